/* Waits that end by a time or by a signal, not by what comes over the interface. */
#include "common.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static struct timespec in(long ns)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    ns += t.tv_nsec;
    t.tv_sec += ns / 1000000000;
    t.tv_nsec = ns % 1000000000;
    return t;
}

static void rings(int number)
{
    (void)number;
}

/* Time passes in a handler, too: beside what the program waits for. */
static void sleeps(int number)
{
    (void)number;
    usleep(7);
}

int main(int argc, char **argv)
{
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    const char *how = argc > 1 ? argv[1] : "";
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec at, span = { 0, 110000 };
    struct timeval parts = { 0, 120 };
    ptl_handle_ct_t counter;
    ptl_ct_event_t count;
    sigset_t set;
    sem_t none;

    OK(PtlCTAlloc(ni, &counter));
    PMI_Barrier();
    if (!strcmp(how, "select"))
        select(0, NULL, NULL, NULL, &parts);
    if (!strcmp(how, "poll"))
        poll(NULL, 0, 1 + rank);
    if (!strcmp(how, "condition")) {
        pthread_mutex_lock(&mutex);
        at = in(130000);
        pthread_cond_timedwait(&condition, &mutex, &at);
    }
    if (!strcmp(how, "semaphore")) {
        sem_init(&none, 0, 0);
        at = in(140000);
        sem_timedwait(&none, &at);
    }
    if (!strcmp(how, "lock")) {
        pthread_rwlock_rdlock(&lock);
        at = in(150000);
        pthread_rwlock_timedwrlock(&lock, &at);
    }
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (!strcmp(how, "signal")) {
        sigprocmask(SIG_BLOCK, &set, NULL);
        sigtimedwait(&set, NULL, &span);
    }
    signal(SIGALRM, !strcmp(how, "handler") ? sleeps : rings);
    if (!strcmp(how, "pause")) {
        ualarm(160 + rank, 0);
        pause();
    }
    if (!strcmp(how, "sleep") || !strcmp(how, "handler")) {
        ualarm(170, 0);
        usleep(1000);
    }
    if (!strcmp(how, "ended")) {
        signal(SIGALRM, SIG_DFL);
        ualarm(180, 0);
        OK(PtlCTWait(counter, 1, &count));
    }
    PMI_Barrier();
    return 0;
}
