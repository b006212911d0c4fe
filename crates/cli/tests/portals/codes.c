/* Wrong use returns the code that the interface names. */
#include "common.h"
#include <sys/mman.h>

int main(void)
{
    ptl_handle_ni_t ni, again;
    ptl_handle_ct_t ct, more;
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
    ptl_handle_me_t list;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_ct_event_t count, zero = { 0, 0 };
    unsigned int which;
    int status;
    static char memory[64];
    ptl_md_t descriptor = { .start = memory, .length = 64, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    ptl_ni_limits_t wish;

    EXPECT(PtlNIInit(0, 5, PTL_PID_ANY, NULL, NULL, &ni) == PTL_NO_INIT);
    EXPECT(PtlCTGet(0, &count) == PTL_NO_INIT);
    memset(&wish, 0x7f, sizeof wish);
    wish.max_cts = 2;
    wish.max_triggered_ops = 1;
    ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, &wish);
    OK(PtlNIInit(0, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, &wish, &again));
    EXPECT(ni == again && wish.max_cts == 2 && wish.max_eqs == 2046);
    OK(PtlNIFini(again));
    EXPECT(PtlNIInit(0, PTL_NI_MATCHING, PTL_PID_ANY, NULL, NULL, &again) == PTL_ARG_INVALID);
    EXPECT(PtlNIInit(7, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &again) == PTL_ARG_INVALID);
    EXPECT(PtlNIInit(0, PTL_NI_MATCHING | PTL_NI_LOGICAL, 999, NULL, NULL, &again) == PTL_PID_IN_USE);
    ptl_process_t any = to_rank(0);
    EXPECT(PtlSetMap(ni, 1, &any) == PTL_IGNORED);

    EXPECT(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_PT_EQ_NEEDED);
    EXPECT(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 1000, &pt) == PTL_ARG_INVALID);
    OK(PtlEQAlloc(ni, 4, &eq));
    OK(PtlPTAlloc(ni, 0, eq, 0, &pt));
    EXPECT(PtlPTAlloc(ni, 0, eq, 0, &pt) == PTL_PT_IN_USE);
    EXPECT(PtlEQGet(eq, &event) == PTL_EQ_EMPTY);
    EXPECT(PtlEQPoll(&eq, 1, 5, &event, &which) == PTL_EQ_EMPTY);

    OK(PtlCTAlloc(ni, &ct));
    OK(PtlCTAlloc(ni, &more));
    EXPECT(PtlCTAlloc(ni, &more) == PTL_NO_SPACE);
    ptl_size_t test = 1;
    EXPECT(PtlCTPoll(&ct, &test, 1, 5, &count, &which) == PTL_CT_NONE_REACHED);
    EXPECT(PtlCTGet(eq, &count) == PTL_ARG_INVALID);
    EXPECT(PtlCTGet(ct, NULL) == PTL_ARG_INVALID);
    EXPECT(PtlNIHandle(ct, &again) == PTL_OK && again == ni);

    OK(PtlMDBind(ni, &descriptor, &md));
    EXPECT(PtlPut(md, 60, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0) == PTL_ARG_INVALID);
    EXPECT(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(size), 0, 0, 0, NULL, 0) == PTL_ARG_INVALID);
    EXPECT(PtlPut(ct, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0) == PTL_ARG_INVALID);
    EXPECT(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_BOR, PTL_DOUBLE) == PTL_ARG_INVALID);
    OK(PtlTriggeredCTInc(ct, zero, ct, 1));
    EXPECT(PtlTriggeredCTInc(ct, zero, ct, 1) == PTL_NO_SPACE);
    OK(PtlCTCancelTriggered(ct));
    OK(PtlTriggeredCTInc(ct, zero, ct, 1));

    ptl_me_t me = entry(memory, 64, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, 0);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    EXPECT(PtlPTFree(ni, pt) == PTL_IN_USE);
    OK(PtlMEUnlink(list));
    EXPECT(PtlMEUnlink(list) == PTL_ARG_INVALID);

    /* Memory that may be read but not written: a failure of the operation, not of the program. */
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    me = entry(page, 64, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, 0);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    descriptor.eq_handle = eq;
    OK(PtlMDBind(ni, &descriptor, &md));
    OK(PtlPut(md, 0, 8, PTL_ACK_REQ, to_rank(rank), 0, 0, 0, NULL, 0));
    int seen = 0;
    while (seen < 3) {
        OK(PtlEQWait(eq, &event));
        EXPECT(event.type == PTL_EVENT_SEND || event.ni_fail_type == PTL_NI_SEGV);
        seen++;
    }
    OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &status));
    EXPECT(status == 0);
    EXPECT(PtlNIStatus(ni, 9, &status) == PTL_ARG_INVALID);
    printf("codes are right\n");
    return 0;
}
