/* Every way to wait: events and counters that are waited for, looked at in a loop, polled with a time-out, and memory that is polled. */
#include "common.h"
#include <unistd.h>

static void send(ptl_handle_md_t md, int to, ptl_pt_index_t pt, int round)
{
    OK(PtlPut(md, 0, 8 + round * 700, PTL_CT_ACK_REQ, to_rank(to), pt, 5, 0, NULL, round));
}

int main(void)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_eq_t eq, other;
    ptl_handle_ct_t ct, acks;
    ptl_handle_me_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_ct_event_t count;
    static volatile long memory[8192];
    static long data[8192];
    unsigned int which;
    int next = (rank + 1) % size, code;

    OK(PtlEQAlloc(ni, 64, &eq));
    OK(PtlEQAlloc(ni, 64, &other));
    OK(PtlCTAlloc(ni, &ct));
    OK(PtlCTAlloc(ni, &acks));
    OK(PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt));
    ptl_me_t me = entry((void *)memory, sizeof memory, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM | PTL_ME_EVENT_LINK_DISABLE, 5);
    me.ct_handle = ct;
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = data, .length = sizeof data, .eq_handle = PTL_EQ_NONE, .ct_handle = acks,
                            .options = PTL_MD_EVENT_CT_ACK };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();

    send(md, next, pt, 1);
    next_event(eq, PTL_EVENT_PUT);
    send(md, next, pt, 2);
    while ((code = PtlEQGet(eq, &event)) == PTL_EQ_EMPTY)
        ;
    EXPECT(code == PTL_OK && event.hdr_data == 2);
    usleep(3 + rank);
    send(md, next, pt, 3);
    ptl_handle_eq_t both[2] = { other, eq };
    while ((code = PtlEQPoll(both, 2, 0, &event, &which)) == PTL_EQ_EMPTY)
        ;
    EXPECT(code == PTL_OK && which == 1);
    EXPECT(PtlEQPoll(both, 2, 1, &event, &which) == PTL_EQ_EMPTY);
    send(md, next, pt, 4);
    do
        OK(PtlCTGet(ct, &count));
    while (count.success < 4);
    send(md, next, pt, 5);
    ptl_size_t test = 5;
    while ((code = PtlCTPoll(&ct, &test, 1, 0, &count, &which)) == PTL_CT_NONE_REACHED)
        ;
    EXPECT(code == PTL_OK);
    PMI_Barrier();
    data[0] = 77;
    send(md, next, pt, 0);
    while (memory[0] != 77)
        ;
    PMI_Barrier();
    data[0] = 78;
    send(md, next, pt, 0);
    while (memory[0] != 78)
        PtlAtomicSync();
    OK(PtlCTWait(acks, 7, &count));
    for (int n = 4; n <= 7; n++)
        next_event(eq, PTL_EVENT_PUT);
    EXPECT(PtlEQGet(eq, &event) == PTL_EQ_EMPTY);
    /* Arrays that are not there are looked into in vain. */
    EXPECT(PtlEQPoll((ptl_handle_eq_t *)16, 1, 0, &event, &which) == PTL_ARG_INVALID);
    EXPECT(PtlCTPoll(&ct, (ptl_size_t *)16, 1, 0, &count, &which) == PTL_ARG_INVALID);
    PMI_Barrier();
    printf("waited\n");
    return 0;
}
