/* Threads of C11: they wait in simulated time, and each of their calls has its own codes. */
#include <errno.h>
#include <pmi.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"

static mtx_t mutex, timed, recursive;
static cnd_t condition;
static tss_t key;
static once_flag flag = ONCE_FLAG_INIT;
static int go, times;

static long now(void)
{
    struct timespec at;
    EXPECT(timespec_get(&at, TIME_UTC) == TIME_UTC);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static struct timespec in(long ns)
{
    long at = now() + ns;
    return (struct timespec){ .tv_sec = at / 1000000000, .tv_nsec = at % 1000000000 };
}

static void once(void)
{
    usleep(5);
    times++;
}

static int work(void *number)
{
    call_once(&flag, once);
    EXPECT(times == 1 && tss_get(key) == NULL && tss_set(key, number) == thrd_success);
    mtx_lock(&mutex);
    while (!go)
        EXPECT(cnd_wait(&condition, &mutex) == thrd_success);
    mtx_unlock(&mutex);
    EXPECT(tss_get(key) == number && !thrd_equal(thrd_current(), (thrd_t)0));
    usleep(20);
    if ((long)number == 2)
        thrd_exit(-7);
    return (int)(long)number * 10;
}

int main(void)
{
    thrd_t threads[3];
    struct timespec span = { .tv_nsec = 5000 }, until;
    int spawned, result;
    long begin;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    EXPECT(mtx_init(&mutex, mtx_plain) == thrd_success && mtx_init(&timed, mtx_timed) == thrd_success);
    EXPECT(mtx_init(&recursive, mtx_plain | mtx_recursive) == thrd_success && cnd_init(&condition) == thrd_success);
    EXPECT(tss_create(&key, NULL) == thrd_success);
    begin = now();
    EXPECT(thrd_sleep(&span, NULL) == 0 && now() - begin == 5000);
    span.tv_nsec = -1;
    EXPECT(thrd_sleep(&span, NULL) < -1);
    for (long n = 0; n < 3; n++)
        EXPECT(thrd_create(&threads[n], work, (void *)n) == thrd_success);
    usleep(50);
    thrd_yield();
    EXPECT(mtx_lock(&mutex) == thrd_success);
    go = 1;
    EXPECT(cnd_broadcast(&condition) == thrd_success && mtx_unlock(&mutex) == thrd_success);
    for (int n = 0; n < 3; n++)
        EXPECT(thrd_join(threads[n], &result) == thrd_success && result == (n == 2 ? -7 : 10 * n));
    EXPECT(mtx_lock(&timed) == thrd_success && mtx_trylock(&timed) == thrd_busy);
    begin = now();
    until = in(75000);
    EXPECT(mtx_timedlock(&timed, &until) == thrd_timedout && now() - begin >= 75000 && now() - begin < 76000);
    until = in(40000);
    EXPECT(cnd_timedwait(&condition, &timed, &until) == thrd_timedout && now() - begin >= 115000);
    EXPECT(mtx_lock(&recursive) == thrd_success && mtx_lock(&recursive) == thrd_success);
    EXPECT(mtx_unlock(&recursive) == thrd_success && mtx_unlock(&recursive) == thrd_success);
    mtx_destroy(&mutex);
    cnd_destroy(&condition);
    tss_delete(key);
    PMI_Barrier();
    puts("joined");
    return 0;
}
