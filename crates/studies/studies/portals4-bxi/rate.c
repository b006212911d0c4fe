/* Rate of puts or gets from rank 0 to rank 1: rate put|get BYTES COUNT WINDOW [volatile]
   WINDOW operations are kept in flight: 1 is a program that waits for each ("match"), many one that does not ("fast"). A COUNT that ends in "s" is
   a time: as many operations as it holds. Prints operations, microseconds per operation and GB/s. */
#include <pmi.h>
#include <portals4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define CHECK(call)                                               \
    do {                                                          \
        int code = (call);                                        \
        if (code != PTL_OK) {                                     \
            fprintf(stderr, "%s returned %d\n", #call, code);     \
            exit(1);                                              \
        }                                                         \
    } while (0)

static double now(void)
{
    struct timeval t;
    gettimeofday(&t, NULL);
    return t.tv_sec + t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    int rank, spawned;
    ptl_handle_ni_t ni;
    ptl_pt_index_t table;
    ptl_process_t self, peer;
    char text[32];

    if (argc < 5) {
        fprintf(stderr, "usage: rate put|get BYTES COUNT WINDOW [volatile]\n");
        return 2;
    }
    int put = strcmp(argv[1], "put") == 0, timed = argv[3][strlen(argv[3]) - 1] == 's';
    ptl_size_t bytes = strtoul(argv[2], NULL, 0);
    long count = timed ? 0 : atol(argv[3]), window = atol(argv[4]), begun = 0, done = 0;
    double limit = timed ? atof(argv[3]) : 0;
    unsigned int options = argc > 5 ? PTL_MD_VOLATILE : 0;
    char *memory = malloc(bytes + 1);

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    CHECK(PtlInit());
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &table));
    if (rank == 1) {
        ptl_me_t entry = { .start = memory, .length = bytes, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                           .options = PTL_ME_OP_PUT | PTL_ME_OP_GET, .ignore_bits = ~0UL };
        ptl_handle_me_t handle;
        entry.match_id.phys.nid = PTL_NID_ANY;
        entry.match_id.phys.pid = PTL_PID_ANY;
        CHECK(PtlMEAppend(ni, table, &entry, PTL_PRIORITY_LIST, NULL, &handle));
        CHECK(PtlGetPhysId(ni, &self));
        snprintf(text, sizeof text, "%u %u", self.phys.nid, self.phys.pid);
        PMI_KVS_Put("", "target", text);
    }
    PMI_Barrier();
    if (rank == 0) {
        ptl_handle_eq_t queue;
        ptl_handle_md_t md;
        ptl_event_t event;
        CHECK(PtlEQAlloc(ni, 4 * window + 16, &queue));
        ptl_md_t descriptor = { .start = memory, .length = bytes, .options = options | PTL_MD_EVENT_SEND_DISABLE,
                                .eq_handle = queue, .ct_handle = PTL_CT_NONE };
        CHECK(PtlMDBind(ni, &descriptor, &md));
        PMI_KVS_Get("", "target", text, sizeof text);
        sscanf(text, "%u %u", &peer.phys.nid, &peer.phys.pid);
        double start = now();
        for (int open = 1; open || done < begun;) {
            open = timed ? now() - start < limit : begun < count;
            if (open && begun - done < window) {
                if (put)
                    CHECK(PtlPut(md, 0, bytes, PTL_ACK_REQ, peer, table, 0, 0, NULL, 0));
                else
                    CHECK(PtlGet(md, 0, bytes, peer, table, 0, 0, NULL));
                begun++;
            } else if (done < begun) {
                CHECK(PtlEQWait(queue, &event));
                if (event.ni_fail_type != PTL_NI_OK) {
                    fprintf(stderr, "an operation failed: %d\n", event.ni_fail_type);
                    return 1;
                }
                done++;
            }
        }
        double span = now() - start;
        printf("%s %lu B, %ld in flight: %ld operations, %.4f us each, %.3f GB/s\n", argv[1], (unsigned long)bytes,
               window, done, span * 1e6 / done, done * bytes / span * 1e-9);
    }
    PMI_Barrier();
    PtlFini();
    return 0;
}
