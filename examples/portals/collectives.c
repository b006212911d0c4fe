/* Barrier, broadcast and all-reduce by triggered operations: the processor starts them and waits once; interfaces do the rest.
     collectives barrier|broadcast|allreduce [COUNT]
   Barrier: dissemination, ceil(log2 P) rounds: in round i rank r tells r + 2^i; having heard of round i releases round i + 1.
   Broadcast: binomial tree from rank 0. All-reduce: sums of 64-bit integers up a binomial tree to rank 0, then down by puts.
   Prints microseconds per operation. */
#include <pmi.h>
#include <portals4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define ROUNDS 20
#define CHECK(call)                                               \
    do {                                                          \
        int code = (call);                                        \
        if (code != PTL_OK) {                                     \
            fprintf(stderr, "%s returned %d\n", #call, code);     \
            exit(1);                                              \
        }                                                         \
    } while (0)

static int rank, size, rounds;
static ptl_handle_ni_t ni;
static ptl_pt_index_t table;
static ptl_handle_ct_t heard[ROUNDS], down, up;
static ptl_handle_md_t md;
static uint64_t value, sum, result;

static ptl_process_t to(int r)
{
    ptl_process_t p;
    memset(&p, 0, sizeof p);
    p.rank = r;
    return p;
}

static void expose(void *start, ptl_size_t length, ptl_match_bits_t bits, ptl_handle_ct_t counter)
{
    ptl_handle_me_t handle;
    ptl_me_t me = { .start = start, .length = length, .ct_handle = counter, .uid = PTL_UID_ANY, .match_bits = bits,
                    .options = PTL_ME_OP_PUT | PTL_ME_EVENT_CT_COMM };
    me.match_id.rank = PTL_RANK_ANY;
    CHECK(PtlMEAppend(ni, table, &me, PTL_PRIORITY_LIST, NULL, &handle));
}

static ptl_size_t offset_of(void *p)
{
    return (ptl_size_t)p;
}

static void start_up(void)
{
    int spawned;
    char key[32], text[32];
    ptl_process_t self, *map;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    CHECK(PtlInit());
    CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni));
    CHECK(PtlGetPhysId(ni, &self));
    snprintf(key, sizeof key, "id-%d", rank);
    snprintf(text, sizeof text, "%u %u", self.phys.nid, self.phys.pid);
    PMI_KVS_Put("", key, text);
    PMI_Barrier();
    map = malloc(size * sizeof *map);
    for (int r = 0; r < size; r++) {
        snprintf(key, sizeof key, "id-%d", r);
        PMI_KVS_Get("", key, text, sizeof text);
        sscanf(text, "%u %u", &map[r].phys.nid, &map[r].phys.pid);
    }
    CHECK(PtlSetMap(ni, size, map));
    free(map);
    CHECK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &table));
    ptl_md_t all = { .start = NULL, .length = PTL_SIZE_MAX, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    CHECK(PtlMDBind(ni, &all, &md));
    while (1 << rounds < size)
        rounds++;
    for (int i = 0; i < rounds; i++) {
        CHECK(PtlCTAlloc(ni, &heard[i]));
        expose(NULL, 0, i, heard[i]);
    }
    CHECK(PtlCTAlloc(ni, &down));
    CHECK(PtlCTAlloc(ni, &up));
    expose(&result, sizeof result, 100, down);
    expose(&sum, sizeof sum, 101, up);
    PMI_Barrier();
}

/* The n-th barrier: a counter has heard n times of its round. */
static void barrier(ptl_size_t n)
{
    ptl_ct_event_t count;
    for (int i = 0; i < rounds; i++) {
        int peer = (rank + (1 << i)) % size;
        if (i == 0)
            CHECK(PtlPut(md, 0, 0, PTL_NO_ACK_REQ, to(peer), table, 0, 0, NULL, 0));
        else
            CHECK(PtlTriggeredPut(md, 0, 0, PTL_NO_ACK_REQ, to(peer), table, i, 0, NULL, 0, heard[i - 1], n));
    }
    for (int i = 0; i < rounds; i++)
        CHECK(PtlCTWait(heard[i], n, &count));
}

/* Passes the result on to the children in the binomial tree when it is there for the n-th time, largest subtree first. */
static void pass_down(ptl_size_t n, int when_heard)
{
    for (int i = rounds - 1; i >= 0; i--) {
        int child = rank | 1 << i;
        if (rank & ((1 << (i + 1)) - 1) || child >= size)
            continue;
        if (when_heard)
            CHECK(PtlTriggeredPut(md, offset_of(&result), 8, PTL_NO_ACK_REQ, to(child), table, 100, 0, NULL, 0, down, n));
        else
            CHECK(PtlPut(md, offset_of(&result), 8, PTL_NO_ACK_REQ, to(child), table, 100, 0, NULL, 0));
    }
}

static void broadcast(ptl_size_t n)
{
    ptl_ct_event_t count;
    if (rank == 0) {
        result = n * 7;
        pass_down(n, 0);
        return;
    }
    pass_down(n, 1);
    CHECK(PtlCTWait(down, n, &count));
}

static void allreduce(ptl_size_t n)
{
    ptl_ct_event_t count, one = { 1, 0 };
    int children = 0, lowest = rank ? __builtin_ctz(rank) : rounds;
    for (int i = 0; i < lowest; i++)
        children += (rank | 1 << i) < size;
    /* The own value counts like a child's: it is added by the processor, through the interface. */
    value = rank + n;
    CHECK(PtlAtomic(md, offset_of(&value), 8, PTL_NO_ACK_REQ, to(rank), table, 101, 0, NULL, 0, PTL_SUM, PTL_UINT64_T));
    (void)one;
    ptl_size_t all = n * (children + 1);
    if (rank) {
        CHECK(PtlTriggeredAtomic(md, offset_of(&sum), 8, PTL_NO_ACK_REQ, to(rank & (rank - 1)), table, 101, 0, NULL, 0,
                                 PTL_SUM, PTL_UINT64_T, up, all));
        pass_down(n, 1);
        CHECK(PtlCTWait(down, n, &count));
        /* The subtree's sum has left: the next one begins at zero. */
        sum = 0;
    } else {
        CHECK(PtlCTWait(up, all, &count));
        result = sum;
        sum = 0;
        pass_down(n, 0);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "barrier";
    ptl_size_t count = argc > 2 ? strtoul(argv[2], NULL, 0) : 10;
    struct timeval begin, end;

    start_up();
    gettimeofday(&begin, NULL);
    for (ptl_size_t n = 1; n <= count; n++) {
        uint64_t expected = 0;
        if (!strcmp(what, "broadcast")) {
            broadcast(n);
            expected = n * 7;
        } else if (!strcmp(what, "allreduce")) {
            allreduce(n);
            expected = size * n + (uint64_t)size * (size - 1) / 2;
        } else {
            barrier(n);
            expected = result;
        }
        if (result != expected) {
            fprintf(stderr, "rank %d, %s %lu: %lu instead of %lu\n", rank, what, (unsigned long)n, (unsigned long)result,
                    (unsigned long)expected);
            return 1;
        }
        if (strcmp(what, "barrier"))
            PMI_Barrier();
    }
    gettimeofday(&end, NULL);
    if (rank == 0)
        printf("%s over %d ranks: %.3f us each\n", what, size,
               ((end.tv_sec - begin.tv_sec) * 1e6 + end.tv_usec - begin.tv_usec) / count);
    PMI_Barrier();
    return 0;
}
