/* What the test programs share: start-up, an interface with a map, and checks that end the rank. */
#include <pmi.h>
#include <portals4.h>
#include <string.h>

#include "expect.h"

/* Opens an interface; on logical ones all ranks are mapped. */
static ptl_handle_ni_t open_interface(unsigned int options, const ptl_ni_limits_t *wish)
{
    ptl_handle_ni_t ni;
    ptl_process_t *map = malloc(4096 * sizeof *map), self;
    char key[40], value[40];
    int spawned;

    EXPECT(PMI_Init(&spawned) == PMI_SUCCESS);
    EXPECT(PMI_Get_rank(&rank) == PMI_SUCCESS && PMI_Get_size(&size) == PMI_SUCCESS);
    OK(PtlInit());
    OK(PtlNIInit(PTL_IFACE_DEFAULT, options, PTL_PID_ANY, wish, NULL, &ni));
    OK(PtlGetPhysId(ni, &self));
    snprintf(key, sizeof key, "%u-%d", options, rank);
    snprintf(value, sizeof value, "%u %u", self.phys.nid, self.phys.pid);
    PMI_KVS_Put("", key, value);
    PMI_Barrier();
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof key, "%u-%d", options, r);
        EXPECT(PMI_KVS_Get("", key, value, sizeof value) == PMI_SUCCESS);
        EXPECT(sscanf(value, "%u %u", &map[r].phys.nid, &map[r].phys.pid) == 2);
    }
    if (options & PTL_NI_LOGICAL)
        OK(PtlSetMap(ni, size, map));
    free(map);
    return ni;
}

static ptl_process_t to_rank(int r)
{
    ptl_process_t p;
    memset(&p, 0, sizeof p);
    p.rank = r;
    return p;
}

static ptl_me_t entry(void *start, ptl_size_t length, unsigned int options, ptl_match_bits_t bits)
{
    ptl_me_t me = { .start = start, .length = length, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                    .options = options, .match_bits = bits };
    me.match_id.rank = PTL_RANK_ANY;
    return me;
}

static ptl_event_t next_event(ptl_handle_eq_t eq, int kind)
{
    ptl_event_t event;
    OK(PtlEQWait(eq, &event));
    if (event.type != kind)
        fprintf(stderr, "rank %d: event %d where %d was expected\n", rank, event.type, kind);
    EXPECT(event.type == kind);
    return event;
}
