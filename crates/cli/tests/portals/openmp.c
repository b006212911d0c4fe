/* OpenMP in several ranks, and in several threads of each: none sees another one's loops, regions, tasks or locks. */
#include <omp.h>
#include <pmi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

static int in_region, has_lock;
static omp_lock_t lock;
static omp_nest_lock_t nested;

/* All kinds of work sharing, with waits in the middle, so that other threads come in between. */
static void shares(void)
{
    int done[8] = { 0 }, sum = 0, parts = 0, tasks = 0, single = 0, ordered = 0;

#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 8; i++) {
        usleep(2);
        done[i]++;
    }
    for (int i = 0; i < 8; i++)
        EXPECT(done[i] == 1);
#pragma omp parallel for reduction(+ : sum) schedule(guided)
    for (int i = 0; i < 100; i++) {
        sum += i;
        usleep(1);
    }
    EXPECT(sum == 4950);
#pragma omp parallel sections reduction(+ : parts)
    {
#pragma omp section
        {
            usleep(3);
            parts++;
        }
#pragma omp section
        {
            usleep(5);
            parts++;
        }
    }
    EXPECT(parts == 2);
#pragma omp parallel
#pragma omp single
    {
        single++;
        for (int i = 0; i < 4; i++) {
#pragma omp task shared(tasks)
            {
                usleep(5);
#pragma omp atomic
                tasks++;
            }
        }
#pragma omp taskwait
    }
    EXPECT(tasks == 4 && single == 1);
#pragma omp parallel for ordered
    for (int i = 0; i < 5; i++) {
        usleep(1);
#pragma omp ordered
        EXPECT(ordered++ == i);
    }
}

static void locks(void)
{
#pragma omp parallel
    {
#pragma omp critical
        {
            EXPECT(in_region++ == 0);
            usleep(7);
            in_region--;
        }
#pragma omp critical(of_its_own)
        usleep(2);
#pragma omp barrier
    }
    omp_set_lock(&lock);
    EXPECT(!omp_test_lock(&lock) && has_lock++ == 0);
    usleep(4);
    has_lock--;
    omp_unset_lock(&lock);
    omp_set_nest_lock(&nested);
    usleep(1);
    omp_unset_nest_lock(&nested);
}

static void *work(void *number)
{
    omp_set_num_threads(2 + (int)(long)number);
    usleep(3);
    shares();
    locks();
    EXPECT(omp_get_max_threads() == 2 + (int)(long)number && !omp_in_parallel());
    return number;
}

int main(int argc, char **argv)
{
    pthread_t other;
    int spawned;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
    if (argc > 1 && rank == 1) {
        omp_set_lock(&lock);
        omp_set_lock(&lock);
    }
    omp_set_nest_lock(&nested);
    EXPECT(omp_test_nest_lock(&nested) == 2);
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
    /* Ranks differ in what they ask for, and none sees another one's wish. */
    omp_set_num_threads(3 + rank);
    PMI_Barrier();
    EXPECT(omp_get_max_threads() == 3 + rank);
    EXPECT(!pthread_create(&other, NULL, work, (void *)(long)(10 + rank)));
    shares();
    locks();
    EXPECT(!pthread_join(other, NULL) && omp_get_max_threads() == 3 + rank);
    PMI_Barrier();
    puts("shared");
    return 0;
}
