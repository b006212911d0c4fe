/* Messages are matched in the order of sending, once each, also when the network loses some: rank 0 counts them by its local offset. */
#include "common.h"

#define MESSAGES 300

int main(void)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_ct_t ct;
    ptl_handle_me_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_ct_event_t count;
    static uint32_t from[64][MESSAGES], large[MESSAGES][512];

    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    OK(PtlCTAlloc(ni, &ct));
    if (rank == 0) {
        for (int r = 1; r < size; r++) {
            ptl_me_t me = entry(from[r], sizeof from[r], PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL | PTL_ME_EVENT_CT_COMM, r);
            me.match_id.rank = r;
            me.ct_handle = ct;
            OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
        }
        ptl_me_t sink = entry(large, sizeof large, PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM, 0);
        sink.ct_handle = ct;
        OK(PtlMEAppend(ni, pt, &sink, PTL_PRIORITY_LIST, NULL, &list));
    }
    PMI_Barrier();
    if (rank > 0) {
        ptl_md_t descriptor = { .start = large, .length = sizeof large, .eq_handle = PTL_EQ_NONE, .ct_handle = ct,
                                .options = PTL_MD_EVENT_CT_ACK };
        OK(PtlMDBind(ni, &descriptor, &md));
        for (int n = 0; n < MESSAGES; n++) {
            large[n][0] = rank * 1000 + n;
            /* Every third is preceded by a large one, which the small one would overtake. */
            if (n % 3 == 0)
                OK(PtlPut(md, n * 2048, 2048, PTL_CT_ACK_REQ, to_rank(0), pt, 0, n * 2048, NULL, 0));
            OK(PtlPut(md, n * 2048, 4, PTL_CT_ACK_REQ, to_rank(0), pt, rank, 0, NULL, 0));
        }
        OK(PtlCTWait(ct, MESSAGES + MESSAGES / 3, &count));
        EXPECT(count.failure == 0);
    } else {
        OK(PtlCTWait(ct, (size - 1) * (MESSAGES + MESSAGES / 3), &count));
        EXPECT(count.failure == 0);
        for (int r = 1; r < size; r++)
            for (int n = 0; n < MESSAGES; n++)
                EXPECT(from[r][n] == (uint32_t)(r * 1000 + n));
        printf("all in order\n");
    }
    PMI_Barrier();
    OK(PtlCTGet(ct, &count));
    EXPECT(count.success == (unsigned)(rank ? 1 : size - 1) * (MESSAGES + MESSAGES / 3));
    return 0;
}
