/* Rank 0 puts to rank 1 and looks for the acknowledgement by the call that is named; the other ranks look for a message likewise. "count" looks so often as
   the second argument says before it begins, "clock" looks until a second has passed and then gives up. */
#include "common.h"
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static char memory[64];

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_eq_t eq;
    ptl_handle_ct_t ct;
    ptl_handle_md_t md;
    ptl_handle_me_t me;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_ct_event_t count;
    unsigned which;
    double begin;

    OK(PtlEQAlloc(ni, 64, &eq));
    OK(PtlCTAlloc(ni, &ct));
    OK(PtlPTAlloc(ni, 0, eq, 5, &pt));
    ptl_md_t d = { .start = memory, .length = 8, .options = PTL_MD_EVENT_CT_ACK, .eq_handle = PTL_EQ_NONE, .ct_handle = ct };
    OK(PtlMDBind(ni, &d, &md));
    ptl_me_t e = entry(memory, sizeof memory, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_CT_COMM, 7);
    e.ct_handle = ct;
    OK(PtlMEAppend(ni, pt, &e, PTL_PRIORITY_LIST, NULL, &me));
    PMI_Barrier();
    if (!strcmp(how, "count"))
        for (long n = atol(argv[2]); n > 0; n--)
            PtlEQGet(eq, &event);
    if (rank == 0)
        OK(PtlPut(md, 0, 8, PTL_CT_ACK_REQ, to_rank(1), pt, 7, 0, NULL, 0));
    begin = now();
    if (!strcmp(how, "clock"))
        while (PtlCTPoll(&ct, &(ptl_size_t){ 1 }, 1, 0, &count, &which) == PTL_CT_NONE_REACHED && now() < begin + 2)
            ;
    else if (!strcmp(how, "wait") && rank)
        OK(PtlCTWait(ct, 1, &count));
    else if (!strcmp(how, "get"))
        do
            OK(PtlCTGet(ct, &count));
        while (!count.success);
    else if (!strcmp(how, "queue"))
        while (PtlEQGet(eq, &event) == PTL_EQ_EMPTY)
            ;
    else if (!strcmp(how, "sync"))
        while (!((volatile char *)memory)[rank ? 0 : 63])
            PtlAtomicSync();
    else
        while (PtlCTPoll(&ct, &(ptl_size_t){ 1 }, 1, 0, &count, &which) == PTL_CT_NONE_REACHED)
            ;
    if (rank == 0)
        printf("%s\n", now() < begin + 1 ? "soon" : "late");
    return 0;
}
