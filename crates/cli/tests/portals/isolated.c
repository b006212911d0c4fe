/* An entry over all addresses, and offsets that are addresses of the initiator: nothing of another rank is there. */
#include "common.h"

static long global = 5;

int main(void)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_eq_t eq;
    ptl_handle_md_t md;
    ptl_handle_me_t handle;
    ptl_pt_index_t pt;
    ptl_event_t event;
    long local = 6, given = 77;
    int next = (rank + 1) % size;

    OK(PtlEQAlloc(ni, 64, &eq));
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &pt));
    ptl_me_t me = entry(NULL, PTL_SIZE_MAX, PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_LINK_DISABLE, 5);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle));
    ptl_md_t descriptor = { .start = &given, .length = sizeof given, .eq_handle = eq, .ct_handle = PTL_CT_NONE,
                            .options = PTL_MD_EVENT_SEND_DISABLE };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    for (int n = 0; n < 2; n++) {
        ptl_size_t offset = (ptl_size_t)(n ? &global : &local);
        OK(PtlPut(md, 0, sizeof given, PTL_ACK_REQ, to_rank(next), pt, 5, offset, NULL, 0));
        event = next_event(eq, PTL_EVENT_ACK);
        EXPECT(event.ni_fail_type == (next == rank ? PTL_NI_OK : PTL_NI_SEGV));
        EXPECT((n ? global : local) == (next == rank ? 77 : 5 + !n));
    }
    PMI_Barrier();
    OK(PtlGet(md, 0, sizeof given, to_rank(next), pt, 5, (ptl_size_t)&global, NULL));
    event = next_event(eq, PTL_EVENT_REPLY);
    EXPECT(event.ni_fail_type == (next == rank ? PTL_NI_OK : PTL_NI_SEGV) && given == 77);
    PMI_Barrier();
    printf("alone\n");
    return 0;
}
