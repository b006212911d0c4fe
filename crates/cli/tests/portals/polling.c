/* Rank 0 looks at its memory until rank 1 has written there; no call lets time pass meanwhile. */
#include "common.h"

int main(void)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    static volatile uint64_t flag;
    uint64_t one = 1;
    ptl_handle_le_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    double kept = 1.5;

    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_le_t le = { .start = (void *)&flag, .length = 8, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                    .options = PTL_LE_OP_PUT };
    OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = &one, .length = 8, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    for (uint64_t n = 1; n <= 20; n++) {
        if (rank == 1) {
            one = n;
            OK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), pt, 0, 0, NULL, 0));
        }
        if (rank == 0) {
            double before = kept * n;
            while (flag < n)
                ;
            EXPECT(before == kept * n && flag == n);
        }
        PMI_Barrier();
    }
    if (rank == 0)
        printf("seen\n");
    return 0;
}
