/* Memory is polled in every shape: by threads of one rank for each other, with calls in between that take no time, and under locks. */
#include "common.h"
#include <pthread.h>
#include <time.h>

#define THREADS 4

static volatile unsigned long enter, leave_;
static volatile uint64_t flags[2];
static volatile int turn, done;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static ptl_handle_ni_t ni;
static ptl_handle_md_t md;
static ptl_pt_index_t pt;
static unsigned long sum;
static uint64_t one = 1;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* A lock of tickets, which nobody but the program knows. */
static void take(void)
{
    unsigned long own = __atomic_fetch_add(&enter, 1, __ATOMIC_ACQ_REL);
    while (leave_ != own)
        ;
}

static void give(void) { __atomic_fetch_add(&leave_, 1, __ATOMIC_RELEASE); }

static void *adds(void *argument)
{
    (void)argument;
    for (int n = 0; n < 20; n++) {
        take();
        unsigned long before = sum;
        OK(PtlAtomicSync()); /* Others run meanwhile. */
        sum = before + 1;
        give();
    }
    return NULL;
}

/* Two threads take turns: each polls in the same place as the time before, though much has happened. A report names it. */
void *turns(void *);
void *turns(void *argument)
{
    int own = (long)argument;
    for (int n = 0; n < 20; n++) {
        while (turn != own)
            ;
        turn = 1 - own;
    }
    return NULL;
}

/* Wants a lock that another thread takes and gives back all the time, always at the same call. */
static void *wants(void *argument)
{
    (void)argument;
    for (int n = 0; n < 3; n++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    pthread_mutex_lock(&mutex);
    done = 1;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void run(void *(*function)(void *), int threads)
{
    pthread_t all[THREADS];
    for (long n = 0; n < threads; n++)
        EXPECT(pthread_create(&all[n], NULL, function, (void *)n) == 0);
    for (int n = 0; n < threads; n++)
        EXPECT(pthread_join(all[n], NULL) == 0);
}

/* Looks at flags in an order by chance, as libraries do that must be fair: no two looks have the same registers. */
static int any(int count, unsigned *seed)
{
    int first = (int)(rand_r(seed) / (RAND_MAX + 1.0) * count);
    for (int n = 0; n < count; n++)
        if (flags[(first + n) % count])
            return (first + n) % count;
    return -1;
}

int main(int argc, char **argv)
{
    ptl_handle_le_t list;
    pthread_t thread;
    unsigned seed = 7;
    long start;
    int seen, free_;

    ni = open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    if (argc > 1 && !strcmp(argv[1], "never")) {
        turn = 2;
        run(turns, 2);
    }
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_le_t le = { .start = (void *)flags, .length = sizeof flags, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY,
                    .options = PTL_LE_OP_PUT };
    OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = &one, .length = 8, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));

    run(adds, THREADS);
    EXPECT(sum == 20 * THREADS && leave_ == enter);
    start = now();
    run(turns, 2);
    /* Of 40 stores the first is there when it is looked for, the last but one is seen as its thread ends, and nobody looks at the last; others are seen 100 ns later. */
    EXPECT(now() - start == 37 * 100);

    EXPECT(pthread_create(&thread, NULL, wants, NULL) == 0);
    do {
        pthread_mutex_lock(&mutex);
        free_ = done;
        pthread_mutex_unlock(&mutex);
    } while (!free_);
    EXPECT(pthread_join(thread, NULL) == 0);

    PMI_Barrier();
    OK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank((rank + 1) % size), pt, 0, 8 * (rank % 2), NULL, 0));
    while ((seen = any(2, &seed)) < 0)
        ;
    EXPECT(seen == (rank + size - 1) % size % 2);
    PMI_Barrier();
    printf("%d looked at memory until %ld\n", rank, now());
    return 0;
}
