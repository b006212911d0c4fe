/* Clocks, threads, streams: what a program finds of the system. */
#include "common.h"
#include <errno.h>
#include <pthread.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stage;
static ptl_handle_eq_t eq;
static __thread int own = 5;

static double seconds(void)
{
    struct timespec t;
    struct timeval v;
    clock_gettime(CLOCK_MONOTONIC, &t);
    gettimeofday(&v, NULL);
    EXPECT(t.tv_sec == v.tv_sec && t.tv_nsec / 1000 == v.tv_usec && time(NULL) == t.tv_sec);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *worker(void *argument)
{
    ptl_event_t event;
    own = 6;
    pthread_mutex_lock(&mutex);
    while (stage < 1)
        pthread_cond_wait(&changed, &mutex);
    stage = 2;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    EXPECT(PtlEQWait(eq, &event) == PTL_ABORTED);
    return (char *)argument + 1;
}

static void at_end(void)
{
    printf("rank %d says goodbye\n", rank);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    void *result;
    double start;
    char name[64];
    struct timespec third = { 0, 300000000 };
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);

    EXPECT(argc == 3 && strcmp(argv[1], "one") == 0 && strcmp(argv[2], "--two") == 0);
    atexit(at_end);
    start = seconds();
    sleep(360);
    usleep(200000);
    nanosleep(&third, NULL);
    EXPECT(seconds() - start > 360.4999 && seconds() - start < 360.5001);
    errno = 40 + rank;
    PMI_Barrier();
    EXPECT(errno == 40 + rank);
    EXPECT(gethostname(name, sizeof name) == 0 && strncmp(name, "node", 4) == 0);

    OK(PtlEQAlloc(ni, 4, &eq));
    EXPECT(pthread_create(&thread, NULL, worker, name) == 0);
    pthread_mutex_lock(&mutex);
    stage = 1;
    pthread_cond_signal(&changed);
    while (stage < 2)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    sleep(1);
    PtlAbort();
    EXPECT(pthread_join(thread, &result) == 0 && result == name + 1);
    fprintf(stderr, "rank %d: errors go here\n", rank);
    printf("no newline at the end of rank %d", rank);
    exit(0);
}
