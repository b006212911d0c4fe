/* Put, get, atomic, fetching atomic and swap round a ring, on all four kinds of interface; globals are private. */
#include "common.h"

static uint64_t cell[16];
static int private_to_each_rank;

static void round_trip(unsigned int kind, ptl_process_t *peers)
{
    int matching = kind & PTL_NI_MATCHING;
    ptl_handle_ni_t ni = open_interface(kind, NULL);
    ptl_handle_any_t list;
    ptl_handle_ct_t arrived, done;
    ptl_handle_md_t md;
    ptl_ct_event_t count;
    ptl_pt_index_t pt;
    uint64_t local[8] = { rank + 1000, 0, 5, 0, 77, 0, 0, 0 };
    unsigned int options = PTL_ME_OP_PUT | PTL_ME_OP_GET | PTL_ME_EVENT_CT_COMM;
    ptl_process_t right, self;

    (void)peers;
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 3, &pt));
    EXPECT(pt == 3);
    OK(PtlCTAlloc(ni, &arrived));
    OK(PtlCTAlloc(ni, &done));
    memset(cell, 0, sizeof cell);
    cell[1] = 100 + rank;
    cell[2] = 10;
    cell[3] = 20;
    if (matching) {
        ptl_me_t me = entry(cell, sizeof cell, options, 9);
        me.ct_handle = arrived;
        if (kind & PTL_NI_PHYSICAL)
            me.match_id.phys.nid = PTL_NID_ANY, me.match_id.phys.pid = PTL_PID_ANY;
        OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    } else {
        ptl_le_t le = { .start = cell, .length = sizeof cell, .ct_handle = arrived, .uid = PTL_UID_ANY, .options = options };
        OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    }
    ptl_md_t descriptor = { .start = local, .length = sizeof local, .eq_handle = PTL_EQ_NONE, .ct_handle = done,
                            .options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY };
    OK(PtlMDBind(ni, &descriptor, &md));
    OK(PtlGetId(ni, &self));
    if (kind & PTL_NI_LOGICAL) {
        EXPECT(self.rank == (unsigned)rank);
        right = to_rank((rank + 1) % size);
    } else {
        char key[40], value[40];
        snprintf(key, sizeof key, "%u-%d", kind, (rank + 1) % size);
        PMI_KVS_Get("", key, value, sizeof value);
        sscanf(value, "%u %u", &right.phys.nid, &right.phys.pid);
    }
    PMI_Barrier();
    OK(PtlPut(md, 0, 8, PTL_ACK_REQ, right, pt, 9, 0, NULL, 0));
    OK(PtlGet(md, 8, 8, right, pt, 9, 8, NULL));
    OK(PtlAtomic(md, 16, 8, PTL_CT_ACK_REQ, right, pt, 9, 16, NULL, 0, PTL_SUM, PTL_UINT64_T));
    OK(PtlFetchAtomic(md, 24, md, 16, 8, right, pt, 9, 16, NULL, 0, PTL_MAX, PTL_UINT64_T));
    uint64_t twenty = 20;
    OK(PtlSwap(md, 40, md, 32, 8, right, pt, 9, 24, NULL, 0, &twenty, PTL_CSWAP, PTL_UINT64_T));
    OK(PtlCTWait(done, 5, &count));
    EXPECT(count.success == 5 && count.failure == 0);
    OK(PtlCTWait(arrived, 5, &count));
    EXPECT(count.success == 5 && count.failure == 0);
    EXPECT(cell[0] == (uint64_t)(rank + size - 1) % size + 1000);
    EXPECT(local[1] == (uint64_t)(100 + (rank + 1) % size));
    EXPECT(cell[2] == 15 && local[3] == 15);
    EXPECT(cell[3] == 77 && local[5] == 20);
    EXPECT(matching ? PtlMEUnlink(list) == PTL_OK : PtlLEUnlink(list) == PTL_OK);
    OK(PtlMDRelease(md));
    OK(PtlPTFree(ni, pt));
    OK(PtlCTFree(arrived));
    OK(PtlCTFree(done));
    OK(PtlNIFini(ni));
    PtlFini();
    private_to_each_rank++;
}

int main(void)
{
    unsigned int kinds[] = { PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_NI_MATCHING | PTL_NI_PHYSICAL,
                             PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_NI_NO_MATCHING | PTL_NI_PHYSICAL };
    for (int k = 0; k < 4; k++)
        round_trip(kinds[k], NULL);
    EXPECT(private_to_each_rank == 4);
    printf("rank %d of %d: all moved\n", rank, size);
    return 0;
}
