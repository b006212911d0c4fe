/* Links that fail: cut COUNT. Rank 0 adds one so many times at rank 1; how often that failed is told there, how often it was done here. */
#include "common.h"

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 100, good = 0, undeliverable = 0;
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
    ptl_handle_me_t list;
    ptl_pt_index_t pt;
    ptl_event_t event;
    static uint64_t sum, sent[64];

    OK(PtlEQAlloc(ni, 4096, &eq));
    OK(PtlPTAlloc(ni, 0, eq, 0, &pt));
    ptl_me_t me = entry(&sum, 8, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_COMM_DISABLE, 0);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = sent, .length = sizeof sent, .options = PTL_MD_EVENT_SEND_DISABLE, .eq_handle = eq, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    if (rank == 0) {
        sent[0] = 1;
        for (int n = 0; n < count; n++) {
            OK(PtlAtomic(md, 0, 8, PTL_ACK_REQ, to_rank(1), 0, 0, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
            do
                OK(PtlEQWait(eq, &event));
            while (event.type != PTL_EVENT_ACK);
            EXPECT(event.ni_fail_type == PTL_NI_OK || event.ni_fail_type == PTL_NI_UNDELIVERABLE);
            good += event.ni_fail_type == PTL_NI_OK;
            undeliverable += event.ni_fail_type == PTL_NI_UNDELIVERABLE;
        }
        printf("%d good, %d undeliverable\n", good, undeliverable);
    }
    PMI_Barrier();
    if (rank == 1)
        printf("sum %lu\n", (unsigned long)sum);
    return 0;
}
