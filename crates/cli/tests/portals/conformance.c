/* What the interface says of limits, lists, full queues and interrupted waits, for two ranks. The network may lose messages: the answers are the same. */
#include "common.h"
#include <pthread.h>
#include <unistd.h>

static ptl_handle_ni_t ni;
static ptl_handle_eq_t other_eq;
static ptl_handle_ct_t other_ct;
static char memory[4096];

/* A structure that is cleared, with features and sizes of portal table and ordering left at 0: the least that the interface has. */
static void limits(void)
{
    ptl_ni_limits_t wish, granted;
    memset(&wish, 0, sizeof wish);
    wish.max_entries = wish.max_unexpected_headers = 8;
    wish.max_mds = wish.max_cts = wish.max_eqs = wish.max_list_size = 8;
    wish.max_msg_size = 2048;
    wish.max_atomic_size = 16;
    ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, &wish);
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, &granted, &ni));
    OK(PtlNIFini(ni));
    EXPECT(granted.max_pt_index >= 63 && granted.max_waw_ordered_size >= 64 && granted.max_war_ordered_size >= 8);
    EXPECT(granted.max_triggered_ops > 0 && granted.max_atomic_size == 16 && granted.max_fetch_atomic_size >= 8);
    EXPECT(granted.features == 0 && granted.max_msg_size == 2048 && granted.max_cts == 8);
}

static ptl_event_t after_send(ptl_handle_eq_t eq, int kind)
{
    ptl_event_t event;
    do
        OK(PtlEQWait(eq, &event));
    while (event.type == PTL_EVENT_SEND);
    EXPECT(event.type == kind && event.ni_fail_type == PTL_NI_OK);
    return event;
}

/* Bits 1 find an entry of the overflow list, bits 2 one of the priority list: the initiator's events name the list. */
static void lists(ptl_handle_eq_t eq, ptl_pt_index_t pt, ptl_handle_md_t md)
{
    unsigned int options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE;
    ptl_handle_me_t handles[2];
    ptl_me_t over = entry(memory, 64, options | PTL_ME_UNEXPECTED_HDR_DISABLE, 1), first = entry(memory + 64, 64, options, 2);
    OK(PtlMEAppend(ni, pt, &over, PTL_OVERFLOW_LIST, NULL, &handles[0]));
    OK(PtlMEAppend(ni, pt, &first, PTL_PRIORITY_LIST, NULL, &handles[1]));
    PMI_Barrier();
    for (int bits = 1; bits <= 2; bits++) {
        int list = bits == 1 ? PTL_OVERFLOW_LIST : PTL_PRIORITY_LIST;
        OK(PtlPut(md, 0, 8, PTL_ACK_REQ, to_rank(1 - rank), pt, bits, 0, NULL, 0));
        EXPECT(after_send(eq, PTL_EVENT_ACK).ptl_list == list);
        OK(PtlGet(md, 0, 8, to_rank(1 - rank), pt, bits, 0, NULL));
        EXPECT(after_send(eq, PTL_EVENT_REPLY).ptl_list == list);
        OK(PtlAtomic(md, 0, 8, PTL_ACK_REQ, to_rank(1 - rank), pt, bits, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
        EXPECT(after_send(eq, PTL_EVENT_ACK).ptl_list == list);
        OK(PtlFetchAtomic(md, 64, md, 0, 8, to_rank(1 - rank), pt, bits, 0, NULL, 0, PTL_SUM, PTL_INT64_T));
        EXPECT(after_send(eq, PTL_EVENT_REPLY).ptl_list == list);
    }
    /* What returns data is bound by both limits. */
    EXPECT(PtlAtomic(md, 0, 24, PTL_NO_ACK_REQ, to_rank(1 - rank), pt, 1, 0, NULL, 0, PTL_SUM, PTL_INT64_T) == PTL_ARG_INVALID);
    EXPECT(PtlFetchAtomic(md, 64, md, 0, 24, to_rank(1 - rank), pt, 1, 0, NULL, 0, PTL_SUM, PTL_INT64_T) == PTL_ARG_INVALID);
    EXPECT(PtlPut(md, 0, 2049, PTL_NO_ACK_REQ, to_rank(1 - rank), pt, 1, 0, NULL, 0) == PTL_ARG_INVALID);
    PMI_Barrier();
    OK(PtlMEUnlink(handles[0]));
    OK(PtlMEUnlink(handles[1]));
}

/* Seven puts into a queue of three: the last three are there, and the first of these tells that some were lost. */
static void full_queue(ptl_handle_eq_t eq, ptl_handle_md_t md)
{
    ptl_handle_eq_t small;
    ptl_handle_me_t handle;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_me_t me = entry(memory, 64, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, 3);
    OK(PtlEQAlloc(ni, 3, &small));
    OK(PtlPTAlloc(ni, 0, small, PTL_PT_ANY, &pt));
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle));
    PMI_Barrier();
    for (int n = 0; n < 7; n++) {
        OK(PtlPut(md, 0, 8, PTL_ACK_REQ, to_rank(1 - rank), pt, 3, 0, NULL, n));
        after_send(eq, PTL_EVENT_ACK);
    }
    PMI_Barrier();
    for (int n = 4; n < 7; n++) {
        EXPECT(PtlEQGet(small, &event) == (n == 4 ? PTL_EQ_DROPPED : PTL_OK));
        EXPECT(event.type == PTL_EVENT_PUT && event.hdr_data == (ptl_hdr_data_t)n);
    }
    EXPECT(PtlEQGet(small, &event) == PTL_EQ_EMPTY);
    OK(PtlMEUnlink(handle));
    OK(PtlPTFree(ni, pt));
    OK(PtlEQFree(small));
}

/* Operations wait for a counter though nothing was wished of them. */
static void triggered(ptl_pt_index_t pt, ptl_handle_md_t md, ptl_handle_eq_t eq)
{
    ptl_handle_ct_t ct;
    ptl_handle_me_t handle;
    ptl_ct_event_t one = { 1, 0 };
    ptl_me_t me = entry(memory, 64, PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE, 4);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle));
    OK(PtlCTAlloc(ni, &ct));
    PMI_Barrier();
    OK(PtlTriggeredPut(md, 0, 8, PTL_ACK_REQ, to_rank(1 - rank), pt, 4, 0, NULL, 0, ct, 1));
    OK(PtlCTInc(ct, one));
    EXPECT(after_send(eq, PTL_EVENT_ACK).mlength == 8);
    PMI_Barrier();
    OK(PtlCTFree(ct));
    OK(PtlMEUnlink(handle));
}

static void *waits_for_queue(void *timed)
{
    ptl_event_t event;
    unsigned int which;
    EXPECT((timed ? PtlEQPoll(&other_eq, 1, 1000, &event, &which) : PtlEQWait(other_eq, &event)) == PTL_INTERRUPTED);
    return NULL;
}

static void *waits_for_counter(void *timed)
{
    ptl_ct_event_t count;
    ptl_size_t test = 10;
    unsigned int which;
    EXPECT((timed ? PtlCTPoll(&other_ct, &test, 1, 1000, &count, &which) : PtlCTWait(other_ct, test, &count)) == PTL_INTERRUPTED);
    return NULL;
}

/* Threads wait for a queue and a counter that another thread frees, alone or with the whole interface. */
static void interrupted(int all)
{
    pthread_t threads[4];
    OK(PtlEQAlloc(ni, 4, &other_eq));
    OK(PtlCTAlloc(ni, &other_ct));
    for (int n = 0; n < 4; n++)
        EXPECT(pthread_create(&threads[n], NULL, n < 2 ? waits_for_queue : waits_for_counter, n % 2 ? memory : NULL) == 0);
    usleep(50000);
    if (all) {
        OK(PtlNIFini(ni));
    } else {
        OK(PtlEQFree(other_eq));
        OK(PtlCTFree(other_ct));
    }
    for (int n = 0; n < 4; n++)
        EXPECT(pthread_join(threads[n], NULL) == 0);
    EXPECT(PtlCTWait(other_ct, 1, &(ptl_ct_event_t){ 0, 0 }) == PTL_ARG_INVALID);
}

int main(void)
{
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    limits();
    EXPECT(size == 2);
    OK(PtlEQAlloc(ni, 64, &eq));
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt));
    ptl_md_t descriptor = { .start = memory, .length = sizeof memory, .eq_handle = eq, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    lists(eq, pt, md);
    full_queue(eq, md);
    triggered(pt, md, eq);
    interrupted(0);
    interrupted(1);
    PtlFini();
    return 0;
}
