/* Mutexes that know their thread, and times that are none: the codes of POSIX. */
#include "common.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

static pthread_mutex_t checks, again = PTHREAD_MUTEX_INITIALIZER, plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t none;

static void make(pthread_mutex_t *mutex, int kind)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    EXPECT(pthread_mutexattr_settype(&attributes, kind) == 0);
    EXPECT(pthread_mutex_init(mutex, &attributes) == 0);
}

static void *other(void *argument)
{
    (void)argument;
    EXPECT(pthread_mutex_unlock(&checks) == EPERM && pthread_mutex_unlock(&again) == EPERM);
    EXPECT(pthread_mutex_trylock(&checks) == EBUSY && pthread_mutex_trylock(&again) == EBUSY);
    /* Waits until `main` gives it back. */
    EXPECT(pthread_mutex_lock(&checks) == 0 && pthread_mutex_unlock(&checks) == 0);
    return NULL;
}

static void times_that_are_none(void)
{
    struct timespec wrong = { 0, 2000000000 }, late = { -1, 0 };
    sigset_t set;

    EXPECT(nanosleep(&wrong, NULL) == -1 && errno == EINVAL && nanosleep(&late, NULL) == -1);
    EXPECT(clock_nanosleep(CLOCK_MONOTONIC, 0, &wrong, NULL) == EINVAL);
    EXPECT(pthread_mutex_timedlock(&plain, &wrong) == 0);
    EXPECT(pthread_mutex_timedlock(&plain, &wrong) == EINVAL);
    EXPECT(pthread_cond_timedwait(&condition, &plain, &wrong) == EINVAL);
    EXPECT(sem_init(&none, 0, 0) == 0 && sem_timedwait(&none, &wrong) == -1 && errno == EINVAL);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    EXPECT(sigtimedwait(&set, NULL, &wrong) == -1 && errno == EINVAL);
}

int main(void)
{
    pthread_t thread;
    struct timespec soon = { 1, 0 };

    make(&checks, PTHREAD_MUTEX_ERRORCHECK);
    make(&again, PTHREAD_MUTEX_RECURSIVE);
    EXPECT(pthread_mutex_unlock(&checks) == EPERM);
    EXPECT(pthread_cond_timedwait(&condition, &checks, &soon) == EPERM);
    EXPECT(pthread_mutex_lock(&checks) == 0 && pthread_mutex_lock(&checks) == EDEADLK);
    EXPECT(pthread_mutex_trylock(&checks) == EBUSY && pthread_mutex_timedlock(&checks, &soon) == EDEADLK);
    EXPECT(pthread_mutex_lock(&again) == 0 && pthread_mutex_lock(&again) == 0);
    EXPECT(pthread_create(&thread, NULL, other, NULL) == 0);
    EXPECT(sched_yield() == 0);
    EXPECT(pthread_mutex_unlock(&checks) == 0 && pthread_join(thread, NULL) == 0);
    EXPECT(pthread_mutex_unlock(&again) == 0 && pthread_mutex_unlock(&again) == 0);
    EXPECT(pthread_mutex_unlock(&again) == EPERM);
    times_that_are_none();
    printf("as in POSIX\n");
    return 0;
}
