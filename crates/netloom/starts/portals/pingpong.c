/* One process puts to another and waits for the acknowledgement; then it gets. Prints the mean time of an operation by size. */
#include <pmi.h>
#include <portals4.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LARGEST (4 << 20)
#define CHECK(call)                                                          \
    do {                                                                     \
        int code = (call);                                                   \
        if (code != PTL_OK) {                                                \
            fprintf(stderr, "%s returned %d\n", #call, code);                \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void wait_for(ptl_handle_eq_t queue, int kind)
{
    ptl_event_t event;
    do {
        CHECK(PtlEQWait(queue, &event));
        if (event.ni_fail_type != PTL_NI_OK) {
            fprintf(stderr, "an operation failed: %d\n", event.ni_fail_type);
            exit(1);
        }
    } while (event.type != kind);
}

int main(int argc, char **argv)
{
    int rank, size, spawned, repeat = argc > 1 ? atoi(argv[1]) : 10;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_pt_index_t table;
    ptl_process_t self, peer;
    char key[32], value[32], *memory = malloc(LARGEST);

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    CHECK(PtlInit());
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
    CHECK(PtlGetPhysId(ni, &self));
    CHECK(PtlEQAlloc(ni, 1024, &queue));
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &table));

    /* Each tells the others its address. */
    snprintf(key, sizeof key, "process-%d", rank);
    snprintf(value, sizeof value, "%u %u", self.phys.nid, self.phys.pid);
    PMI_KVS_Put("", key, value);
    if (rank == 1) {
        ptl_me_t entry = { .start = memory, .length = LARGEST, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                           .options = PTL_ME_OP_PUT | PTL_ME_OP_GET, .match_bits = 1 };
        ptl_handle_me_t handle;
        entry.match_id.phys.nid = PTL_NID_ANY;
        entry.match_id.phys.pid = PTL_PID_ANY;
        CHECK(PtlMEAppend(ni, table, &entry, PTL_PRIORITY_LIST, NULL, &handle));
    }
    PMI_Barrier();
    if (rank == 0 && size > 1) {
        ptl_md_t descriptor = { .start = memory, .length = LARGEST, .eq_handle = queue, .ct_handle = PTL_CT_NONE };
        ptl_handle_md_t md;
        CHECK(PtlMDBind(ni, &descriptor, &md));
        PMI_KVS_Get("", "process-1", value, sizeof value);
        sscanf(value, "%u %u", &peer.phys.nid, &peer.phys.pid);
        printf("%10s %12s %12s\n", "bytes", "put (us)", "get (us)");
        for (ptl_size_t bytes = 1; bytes <= LARGEST; bytes *= bytes < 64 ? 64 : 8) {
            double begin = now(), middle, end;
            for (int i = 0; i < repeat; i++) {
                CHECK(PtlPut(md, 0, bytes, PTL_ACK_REQ, peer, table, 1, 0, NULL, 0));
                wait_for(queue, PTL_EVENT_ACK);
            }
            middle = now();
            for (int i = 0; i < repeat; i++) {
                CHECK(PtlGet(md, 0, bytes, peer, table, 1, 0, NULL));
                wait_for(queue, PTL_EVENT_REPLY);
            }
            end = now();
            printf("%10lu %12.4f %12.4f\n", (unsigned long)bytes, (middle - begin) / repeat, (end - middle) / repeat);
        }
    }
    PMI_Barrier();
    PtlFini();
    PMI_Finalize();
    return 0;
}
