/* Timers of POSIX and timers behind descriptors expire in simulated time, each in its own rank. */
#include "common.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile int raised, called, value;

static long now(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000 + at.tv_nsec;
}

static void on_signal(int number, siginfo_t *information, void *context)
{
    (void)context;
    raised += number == SIGRTMIN + 1 && information->si_code == SI_TIMER;
    value = information->si_value.sival_int;
}

static void on_time(union sigval given)
{
    called++;
    value = given.sival_int;
}

static struct itimerspec spans(long first, long every)
{
    return (struct itimerspec){ .it_value.tv_nsec = first, .it_interval.tv_nsec = every };
}

static void with_signals(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1, .sigev_value.sival_int = 40 + rank };
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
    struct itimerspec set = spans(20000, 10000), left;
    sigset_t blocked;
    timer_t timer;
    long begin = now();

    EXPECT(!sigaction(SIGRTMIN + 1, &action, NULL));
    EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &set, NULL));
    EXPECT(!timer_gettime(timer, &left) && left.it_value.tv_nsec == 20000 && left.it_interval.tv_nsec == 10000);
    while (raised < 3)
        pause();
    EXPECT(now() - begin == 40000 && value == 40 + rank);
    /* While it is blocked it waits once, and the others are counted. */
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    usleep(35);
    EXPECT(raised == 3 && timer_getoverrun(timer) == 2);
    sigprocmask(SIG_UNBLOCK, &blocked, NULL);
    EXPECT(raised == 4);
    set = spans(0, 0);
    EXPECT(!timer_settime(timer, 0, &set, &left) && left.it_value.tv_nsec == 5000);
    usleep(100);
    EXPECT(raised == 4);
    /* A time that is over is there at once; a timer that is gone is none. */
    set = spans(1, 0);
    EXPECT(!timer_settime(timer, TIMER_ABSTIME, &set, NULL));
    usleep(1);
    EXPECT(raised == 5 && !timer_delete(timer) && timer_delete(timer) == -1 && errno == EINVAL);
    EXPECT(timer_settime(timer, 0, &set, NULL) == -1 && timer_create(CLOCK_REALTIME, &(struct sigevent){ .sigev_notify = 77 }, &timer) == -1);
}

static void with_functions_or_nothing(void)
{
    struct sigevent event = { .sigev_notify = SIGEV_THREAD, .sigev_notify_function = on_time, .sigev_value.sival_int = 5 };
    struct itimerspec set = spans(20000, 20000), left;
    timer_t timer;

    EXPECT(!timer_create(CLOCK_REALTIME, &event, &timer) && !timer_settime(timer, 0, &set, NULL));
    usleep(70);
    EXPECT(called == 3 && value == 5 && !timer_delete(timer));
    usleep(70);
    EXPECT(called == 3);
    event = (struct sigevent){ .sigev_notify = SIGEV_NONE };
    set = spans(30000, 50000);
    EXPECT(!timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &set, NULL));
    usleep(10);
    EXPECT(!timer_gettime(timer, &left) && left.it_value.tv_nsec == 20000);
    usleep(100);
    EXPECT(!timer_gettime(timer, &left) && left.it_value.tv_nsec == 20000 && left.it_interval.tv_nsec == 50000);
}

static void with_descriptors(void)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), other;
    struct itimerspec set = spans(400000, 0);
    struct pollfd look = { .fd = timer, .events = POLLIN };
    uint64_t count = 0;
    long begin = now();

    EXPECT(timer >= 0 && !timerfd_settime(timer, 0, &set, NULL));
    EXPECT(read(timer, &count, sizeof count) == 8 && count == 1 && now() - begin >= 400000 && now() - begin < 402000);
    set = spans(100000, 50000);
    begin = now();
    EXPECT(!timerfd_settime(timer, 0, &set, NULL) && poll(&look, 1, 5) == 1 && now() - begin == 100000);
    usleep(110);
    EXPECT(!timerfd_gettime(timer, &set) && set.it_value.tv_nsec == 40000);
    EXPECT(read(timer, &count, sizeof count) == 8 && count == 3);
    EXPECT(poll(&look, 1, 0) == 0 && !close(timer));
    EXPECT(timerfd_settime(timer, 0, &set, NULL) == -1 && errno == EINVAL);
    other = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK);
    EXPECT(read(other, &count, sizeof count) == -1 && errno == EAGAIN && !close(other));
}

int main(void)
{
    int spawned;
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    with_signals();
    PMI_Barrier();
    with_functions_or_nothing();
    with_descriptors();
    PMI_Barrier();
    puts("expired");
    return 0;
}
