/* An answer that is under way while its interface is closed and opened again: it finds nothing in the new one. */
#include "common.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    static char source[4096], first[4096], second[64];
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_PHYSICAL, NULL);
    ptl_handle_me_t me;
    ptl_pt_index_t pt;
    ptl_handle_md_t md;
    ptl_handle_ct_t ct;
    ptl_ct_event_t count;
    ptl_process_t other;
    char key[40], value[40];

    if (argc > 1) {
        /* Longer than virtual time. */
        sleep(20000000);
        return 0;
    }
    snprintf(key, sizeof key, "%u-%d", (unsigned)(PTL_NI_MATCHING | PTL_NI_PHYSICAL), 1 - rank);
    EXPECT(PMI_KVS_Get("", key, value, sizeof value) == PMI_SUCCESS);
    EXPECT(sscanf(value, "%u %u", &other.phys.nid, &other.phys.pid) == 2);
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 5, &pt));
    memset(source, 'x', sizeof source);
    memset(second, '.', sizeof second);
    ptl_me_t e = entry(source, sizeof source, PTL_ME_OP_GET, 7);
    e.match_id.phys.nid = PTL_NID_ANY;
    e.match_id.phys.pid = PTL_PID_ANY;
    OK(PtlMEAppend(ni, pt, &e, PTL_PRIORITY_LIST, NULL, &me));
    PMI_Barrier();
    if (rank == 0) {
        ptl_md_t d = { .start = first, .length = sizeof first, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
        OK(PtlMDBind(ni, &d, &md));
        OK(PtlGet(md, 0, sizeof first, other, pt, 7, 0, NULL));
        OK(PtlNIFini(ni));
        OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
        OK(PtlCTAlloc(ni, &ct));
        d.start = second;
        d.length = 8;
        d.ct_handle = ct;
        d.options = PTL_MD_EVENT_CT_REPLY;
        ptl_handle_md_t again;
        OK(PtlMDBind(ni, &d, &again));
        EXPECT(again != md);
        OK(PtlGet(again, 0, 8, other, pt, 7, 0, NULL));
        OK(PtlCTWait(ct, 1, &count));
        EXPECT(memcmp(second, "xxxxxxxx........", 16) == 0);
        puts("own");
    }
    PMI_Barrier();
    return 0;
}
