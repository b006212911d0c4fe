/* Messages that come before their entries: headers, search, automatic unlinking, flow control. Rank 1 sends to rank 0. */
#include "common.h"

int main(void)
{
    ptl_ni_limits_t wish;
    memset(&wish, 0x7f, sizeof wish);
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, &wish);
    ptl_handle_eq_t eq;
    ptl_handle_me_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    ptl_event_t event;
    static uint32_t buffer[4], wanted[4], data[4] = { 11, 22, 33, 44 };

    OK(PtlEQAlloc(ni, 8, &eq));
    OK(PtlPTAlloc(ni, rank == 0 ? PTL_PT_FLOWCTRL : 0, eq, PTL_PT_ANY, &pt));
    if (rank == 0) {
        ptl_me_t me = entry(buffer, sizeof buffer, PTL_ME_OP_PUT | PTL_ME_MANAGE_LOCAL, 0);
        me.ignore_bits = ~0UL;
        me.min_free = 4;
        OK(PtlMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, (void *)1, &list));
        next_event(eq, PTL_EVENT_LINK);
    }
    PMI_Barrier();
    if (rank == 1) {
        ptl_md_t descriptor = { .start = data, .length = sizeof data, .eq_handle = eq, .ct_handle = PTL_CT_NONE,
                                .options = PTL_MD_EVENT_SEND_DISABLE };
        OK(PtlMDBind(ni, &descriptor, &md));
        for (int n = 0; n < 5; n++) {
            OK(PtlPut(md, n % 4 * 4, 4, PTL_ACK_REQ, to_rank(0), pt, n, 0, NULL, 100 + n));
            event = next_event(eq, PTL_EVENT_ACK);
            /* Four fit; the fifth finds nothing and disables the portal table entry. */
            EXPECT(event.ni_fail_type == (n < 4 ? PTL_NI_OK : PTL_NI_PT_DISABLED));
            EXPECT(n == 4 || event.remote_offset == n * 4u);
        }
    }
    PMI_Barrier();
    if (rank == 0) {
        for (int n = 0; n < 4; n++) {
            event = next_event(eq, PTL_EVENT_PUT);
            EXPECT(event.ptl_list == PTL_OVERFLOW_LIST && event.hdr_data == 100u + n);
        }
        next_event(eq, PTL_EVENT_AUTO_UNLINK);
        next_event(eq, PTL_EVENT_PT_DISABLED);
        ptl_me_t probe = entry(NULL, 0, PTL_ME_USE_ONCE, 2);
        OK(PtlMESearch(ni, pt, &probe, PTL_SEARCH_ONLY, (void *)7));
        event = next_event(eq, PTL_EVENT_SEARCH);
        EXPECT(event.ni_fail_type == PTL_NI_OK && event.user_ptr == (void *)7 && event.hdr_data == 102);
        probe.match_bits = 50;
        OK(PtlMESearch(ni, pt, &probe, PTL_SEARCH_DELETE, NULL));
        EXPECT(next_event(eq, PTL_EVENT_SEARCH).ni_fail_type == PTL_NI_NO_MATCH);
        for (int n = 3; n >= 0; n--) {
            ptl_me_t me = entry(wanted, sizeof wanted, PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_UNLINK_DISABLE, n);
            OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
            event = next_event(eq, PTL_EVENT_PUT_OVERFLOW);
            EXPECT(event.mlength == 4 && *(uint32_t *)event.start == data[n]);
        }
        EXPECT(next_event(eq, PTL_EVENT_AUTO_FREE).user_ptr == (void *)1);
        OK(PtlPTEnable(ni, pt));
        ptl_me_t last = entry(wanted, sizeof wanted, PTL_ME_OP_PUT, 9);
        OK(PtlMEAppend(ni, pt, &last, PTL_PRIORITY_LIST, NULL, &list));
        next_event(eq, PTL_EVENT_LINK);
    }
    PMI_Barrier();
    if (rank == 1) {
        OK(PtlPut(md, 0, 16, PTL_ACK_REQ, to_rank(0), pt, 9, 0, NULL, 0));
        EXPECT(next_event(eq, PTL_EVENT_ACK).ni_fail_type == PTL_NI_OK);
    }
    PMI_Barrier();
    if (rank == 0) {
        EXPECT(next_event(eq, PTL_EVENT_PUT).mlength == 16 && wanted[3] == 44);
        printf("unexpected messages are right\n");
    }
    return 0;
}
