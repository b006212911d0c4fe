/* The lower half of the ranks puts BYTES at once to the upper half, rank r to rank r + size / 2: prints when the last one has its acknowledgement. */
#include "common.h"
#include <sys/time.h>

int main(int argc, char **argv)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_ct_t ct;
    ptl_handle_me_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_ct_event_t count;
    struct timeval begin, end;
    ptl_size_t bytes = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
    char *memory = malloc(bytes);

    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    OK(PtlCTAlloc(ni, &ct));
    ptl_me_t me = entry(memory, bytes, PTL_ME_OP_PUT, 7);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    PMI_Barrier();
    gettimeofday(&begin, NULL);
    if (rank < size / 2) {
        ptl_md_t descriptor = { .start = memory, .length = bytes, .eq_handle = PTL_EQ_NONE, .ct_handle = ct,
                                .options = PTL_MD_EVENT_CT_ACK };
        OK(PtlMDBind(ni, &descriptor, &md));
        OK(PtlPut(md, 0, bytes, PTL_CT_ACK_REQ, to_rank(rank + size / 2), pt, 7, 0, NULL, 0));
        OK(PtlCTWait(ct, 1, &count));
        EXPECT(count.failure == 0);
        gettimeofday(&end, NULL);
        printf("%ld us\n", (end.tv_sec - begin.tv_sec) * 1000000 + end.tv_usec - begin.tv_usec);
    }
    PMI_Barrier();
    return 0;
}
