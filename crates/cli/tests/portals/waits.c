/* Whatever a rank waits at passes simulated time, or is told: locks and barriers of threads, time-outs, tries in a loop. */
#include "common.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, again;
static pthread_spinlock_t spin;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t full, empty;
static int value, readers, most, begun;
static volatile int flag;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static struct timespec in(long ns)
{
    long at = now() + ns;
    struct timespec t = { at / 1000000000L, at % 1000000000L };
    return t;
}

static void begin(void)
{
    usleep(3);
    begun++;
}

static void *other(void *argument)
{
    struct timespec at;
    (void)argument;
    pthread_once(&once, begin);
    EXPECT(begun == 1 && pthread_getspecific(key) == NULL);
    pthread_setspecific(key, &value);
    pthread_barrier_wait(&barrier);
    /* Reads while the other does. */
    EXPECT(pthread_rwlock_rdlock(&lock) == 0);
    most = ++readers > most ? readers : most;
    usleep(10);
    readers--;
    pthread_rwlock_unlock(&lock);
    pthread_barrier_wait(&barrier);
    EXPECT(pthread_rwlock_wrlock(&lock) == 0);
    value = 1;
    usleep(20);
    value = 2;
    pthread_rwlock_unlock(&lock);
    /* A recursive mutex is taken by its thread alone. */
    EXPECT(pthread_mutex_trylock(&again) == EBUSY && pthread_mutex_lock(&again) == 0);
    EXPECT(pthread_mutex_unlock(&again) == 0 && pthread_mutex_unlock(&again) == EPERM);
    for (int n = 0; n < 3; n++) {
        sem_wait(&full);
        value = -value;
        sem_post(&empty);
    }
    at = in(5000);
    EXPECT(sem_timedwait(&full, &at) == -1 && errno == ETIMEDOUT);
    usleep(50);
    flag = 1;
    EXPECT(pthread_getspecific(key) == &value);
    return NULL;
}

static void on_alarm(int number)
{
    flag = number;
}

static void time_outs(void)
{
    long start = now();
    struct timeval span = { 0, 250 };
    struct timespec at;
    int ends[2];
    struct pollfd one;
    fd_set set;

    EXPECT(select(0, NULL, NULL, NULL, &span) == 0 && now() - start == 250000);
    EXPECT(poll(NULL, 0, 2) == 0 && now() - start == 2250000);
    EXPECT(pipe(ends) == 0);
    one.fd = ends[0];
    one.events = POLLIN;
    EXPECT(poll(&one, 1, 1) == 0 && now() - start == 3250000);
    EXPECT(write(ends[1], "x", 1) == 1 && poll(&one, 1, -1) == 1);
    FD_ZERO(&set);
    FD_SET(ends[0], &set);
    EXPECT(select(ends[0] + 1, &set, NULL, NULL, NULL) == 1);
    close(ends[0]);
    close(ends[1]);
    pthread_mutex_lock(&mutex);
    start = now();
    at = in(700);
    EXPECT(pthread_mutex_timedlock(&mutex, &at) == ETIMEDOUT && now() - start == 700);
    EXPECT(pthread_mutex_trylock(&mutex) == EBUSY && now() > start + 700);
    pthread_mutex_unlock(&mutex);
    signal(SIGALRM, on_alarm);
    ualarm(400, 0);
    while (flag != SIGALRM)
        sched_yield();
    flag = 0;
}

int main(int argc, char **argv)
{
    pthread_mutexattr_t attributes;
    pthread_t thread;
    long start;

    open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    if (argc > 1 && rank == 1 && !strcmp(argv[1], "loop"))
        for (unsigned long n = 1;; n += n % 7)
            flag = n & 1;
    pthread_barrier_init(&barrier, NULL, 2);
    if (argc > 1 && rank == 1 && !strcmp(argv[1], "barrier"))
        pthread_barrier_wait(&barrier);
    if (argc > 1 && rank == 1 && !strcmp(argv[1], "semaphore")) {
        sem_init(&full, 0, 0);
        sem_wait(&full);
    }
    time_outs();
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&again, &attributes);
    pthread_spin_init(&spin, 0);
    pthread_key_create(&key, NULL);
    sem_init(&full, 0, 0);
    sem_init(&empty, 0, 0);
    EXPECT(pthread_create(&thread, NULL, other, NULL) == 0);
    pthread_once(&once, begin);
    EXPECT(begun == 1);
    pthread_barrier_wait(&barrier);
    EXPECT(pthread_rwlock_rdlock(&lock) == 0);
    most = ++readers > most ? readers : most;
    usleep(10);
    readers--;
    pthread_rwlock_unlock(&lock);
    EXPECT(most == 2);
    EXPECT(pthread_mutex_lock(&again) == 0 && pthread_mutex_lock(&again) == 0);
    pthread_barrier_wait(&barrier);
    usleep(5);
    start = now();
    /* A writer keeps everybody out. */
    EXPECT(value == 1 && pthread_rwlock_tryrdlock(&lock) == EBUSY);
    EXPECT(pthread_rwlock_rdlock(&lock) == 0 && value == 2 && now() - start == 15000);
    pthread_rwlock_unlock(&lock);
    usleep(5);
    EXPECT(pthread_mutex_unlock(&again) == 0 && pthread_mutex_unlock(&again) == 0);
    for (int n = 0; n < 3; n++) {
        sem_post(&full);
        sem_wait(&empty);
        EXPECT(value == (n % 2 ? 2 : -2));
    }
    pthread_spin_lock(&spin);
    EXPECT(pthread_spin_trylock(&spin) == EBUSY && pthread_spin_unlock(&spin) == 0);
    while (!flag)
        if (pthread_mutex_trylock(&mutex) == 0) {
            pthread_mutex_unlock(&mutex);
            sched_yield();
        }
    EXPECT(pthread_join(thread, NULL) == 0);
    printf("waited\n");
    return 0;
}
