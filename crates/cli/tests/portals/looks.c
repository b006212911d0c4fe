/* Rank 1 looks at memory in a loop without any call until rank 0 has put there. The loop has a shape of its own:
   `copy` looks at a copy that it made before, `scan` and `sum` go through many words, `library` has the C library read them,
   `frame` counts on its stack. A second put follows the first, at an address that the loop does not look at. */
#include "common.h"
#include <time.h>
#include <unistd.h>

#define MOST 8192

static volatile uint64_t box[MOST + 1];

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* Without a frame pointer the copies lie above all that the loop names by registers. */
static __attribute__((noinline, optimize("O2", "omit-frame-pointer", "no-unroll-loops"))) uint64_t copy(void)
{
    uint64_t first[8] = { 0 }, second[8] = { 0 };
    do {
        for (int n = 0; n < 8; n++) {
            __asm__ volatile("" : : "r"(second) : "memory");
            second[n] = first[n];
            first[n] = box[n];
        }
        __asm__ volatile("" : : "r"(first), "r"(second) : "memory");
    } while (second[0] != 1);
    return second[0];
}

static __attribute__((noinline)) uint64_t scan(long words)
{
    for (long n = 0;; n = n + 1 == words ? 0 : n + 1)
        if (box[n])
            return box[n];
}

static __attribute__((noinline)) uint64_t sum(long words)
{
    uint64_t all;
    do {
        all = 0;
        for (long n = 0; n < words; n++)
            all += box[n];
    } while (!all);
    return all;
}

static __attribute__((noinline)) uint64_t library(long words)
{
    static uint64_t here[MOST];
    do {
        __asm__ volatile("" : : : "memory");
        memcpy(here, (void *)box, words * sizeof *here);
    } while (!here[words - 1]);
    return here[words - 1];
}

static __attribute__((noinline)) uint64_t frame(void)
{
    volatile long tries[64] = { 0 }; /* The last of them lies above the red zone. */
    while (!box[0])
        tries[63]++;
    return box[0];
}

int main(int argc, char **argv)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    const char *how = argc > 1 ? argv[1] : "copy";
    long words = argc > 2 ? atol(argv[2]) : 8;
    int at_end = !strcmp(how, "scan") || !strcmp(how, "sum") || !strcmp(how, "library");
    ptl_handle_le_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    uint64_t one = 1;
    long start;

    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_le_t le = { .start = (void *)box, .length = sizeof box, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                    .options = PTL_LE_OP_PUT };
    OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = &one, .length = 8, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    start = now();
    if (rank == 0) {
        usleep(10);
        OK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(1), pt, 0, sizeof box - 8, NULL, 0));
        usleep(10);
        OK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(1), pt, 0, at_end ? (words - 1) * 8 : 0, NULL, 0));
        usleep(100);
    } else {
        uint64_t seen = !strcmp(how, "scan")    ? scan(words)
                        : !strcmp(how, "sum")     ? sum(words)
                        : !strcmp(how, "library") ? library(words)
                        : !strcmp(how, "frame")   ? frame()
                                                  : copy();
        EXPECT(seen == 1);
        printf("seen after %ld ns\n", now() - start);
    }
    PMI_Barrier();
    return 0;
}
