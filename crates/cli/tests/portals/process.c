/* What a process has for itself: every rank changes all of it, waits for the others, and finds its own. */
#include "common.h"
#include <errno.h>
#include <fenv.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static volatile int raised;

static void on_signal(int number)
{
    raised += number;
}

/* What a chain of random numbers gives; the same functions seeded alike give the same in every process. */
static void random_numbers(void)
{
    long first, second, third;
    double real;
    unsigned short x[3] = { 1, 2, 3 };

    EXPECT(rand() == 1804289383);
    srand(7 + rank);
    first = rand();
    srand48(5 + rank);
    real = drand48();
    third = lrand48();
    PMI_Barrier();
    second = random();
    srandom(7 + rank);
    EXPECT(random() == first && random() == second);
    srand48(5 + rank);
    EXPECT(drand48() == real && lrand48() == third);
    EXPECT(erand48(x) >= 0 && nrand48(x) >= 0);
}

static void options(int argc, char **argv)
{
    static const struct option longer[] = { { "count", required_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };
    int code, seen = 0;

    while ((code = getopt_long(argc, argv, "ab:", longer, NULL)) != -1) {
        PMI_Barrier();
        if (code == 'a')
            seen |= 1;
        else if (code == 'b')
            seen |= strcmp(optarg, "five") ? 8 : 2;
        else if (code == 'c')
            seen |= atoi(optarg) == 12 ? 4 : 8;
        else
            seen |= 8;
    }
    EXPECT(seen == 7 && optind == argc - 1 && !strcmp(argv[optind], "rest"));
    /* What is no argument's number is no reason to read outside of them. */
    optind = argc + 5;
    EXPECT(getopt(argc, argv, "ab:c:") == -1);
    optind = -3;
    EXPECT(getopt(argc, argv, "ab:c:") != -1 && optind > 0);
}

static void texts(void)
{
    char text[] = "one two three", name[40], *token = strtok(text, " ");
    struct tm *parts;
    time_t at = 86400L * (rank + 1);

    EXPECT(!strcmp(token, "one"));
    parts = gmtime(&at);
    sprintf(name, "of-rank-%d", rank);
    EXPECT(setenv("NETLOOM_TEST", name, 1) == 0 && putenv("NETLOOM_FIXED=5") == 0);
    EXPECT(rank > 0 || setenv("NETLOOM_ZERO", "here", 1) == 0);
    PMI_Barrier();
    EXPECT(parts->tm_mday == 2 + rank);
    EXPECT(!strcmp(strtok(NULL, " "), "two") && !strcmp(strtok(NULL, " "), "three") && !strtok(NULL, " "));
    EXPECT(!strcmp(getenv("NETLOOM_TEST"), name) && !strcmp(getenv("NETLOOM_FIXED"), "5"));
    EXPECT(!getenv("NETLOOM_ZERO") == (rank > 0));
    unsetenv("NETLOOM_TEST");
    PMI_Barrier();
    EXPECT(!getenv("NETLOOM_TEST") && getenv("PATH"));
}

static void places(void)
{
    char name[64], here[256];
    struct stat status;
    FILE *file;

    sprintf(name, "/tmp/netloom-place-%d-%ld", rank, (long)getppid());
    rmdir(name);
    EXPECT(mkdir(name, 0700) == 0 && chdir(name) == 0);
    umask(rank % 2 ? 077 : 022);
    PMI_Barrier();
    EXPECT(getcwd(here, sizeof here) && !strcmp(here, name));
    EXPECT((file = fopen("made", "w")) != NULL && fclose(file) == 0);
    EXPECT(stat("made", &status) == 0 && (status.st_mode & 0777) == (rank % 2 ? 0600 : 0644));
    EXPECT(unlink("made") == 0 && chdir("/") == 0 && rmdir(name) == 0);
}

static void numbers(void)
{
    volatile double one = 1, three = 3, third, zero = 0;
    volatile long double long_one = 1, long_zero = 0;

    EXPECT(fesetround(rank % 2 ? FE_UPWARD : FE_DOWNWARD) == 0);
    third = one / three;
    feclearexcept(FE_ALL_EXCEPT);
    if (rank % 2)
        zero = one / zero;
    PMI_Barrier();
    EXPECT(fegetround() == (rank % 2 ? FE_UPWARD : FE_DOWNWARD) && one / three == third);
    EXPECT(!fetestexcept(FE_DIVBYZERO) == !(rank % 2));
    feclearexcept(FE_ALL_EXCEPT);
    if (rank % 2)
        long_zero = long_one / long_zero;
    PMI_Barrier();
    EXPECT(!fetestexcept(FE_DIVBYZERO) == !(rank % 2));
    fesetround(FE_TONEAREST);
    EXPECT(rank % 2 ? one / three < third : one / three >= third);
    if (setlocale(LC_NUMERIC, rank % 2 ? "C.UTF-8" : "C")) {
        PMI_Barrier();
        EXPECT(!strcmp(setlocale(LC_NUMERIC, NULL), rank % 2 ? "C.UTF-8" : "C"));
    }
}

static void signals(void)
{
    struct sigaction refused = { .sa_handler = on_signal };
    sigset_t set, old;

    EXPECT(sigaction(SIGKILL, &refused, NULL) == -1 && errno == EINVAL && signal(SIGSTOP, on_signal) == SIG_ERR);
    EXPECT(sigaction(SIGKILL, NULL, &refused) == 0 && refused.sa_handler == SIG_DFL && signal(SIGKILL, SIG_DFL) == SIG_ERR);
    signal(SIGUSR1, rank % 2 ? on_signal : SIG_IGN);
    PMI_Barrier();
    EXPECT(raise(SIGUSR1) == 0 && raised == (rank % 2 ? SIGUSR1 : 0));
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    signal(SIGUSR2, on_signal);
    raised = 0;
    EXPECT(sigprocmask(SIG_BLOCK, &set, &old) == 0 && raise(SIGUSR2) == 0 && raised == 0);
    EXPECT(sigprocmask(SIG_SETMASK, &old, NULL) == 0 && raised == SIGUSR2);
    EXPECT(kill(getpid(), 0) == 0 && kill(getpid(), SIGUSR2) == 0 && raised == 2 * SIGUSR2);
    EXPECT(kill(12, SIGUSR2) == -1 && errno == ESRCH);
    signal(SIGALRM, on_signal);
    raised = 0;
    alarm(1 + rank % 2);
    EXPECT(sleep(9) == 8 - rank % 2 && raised == SIGALRM);
    raised = 0;
    alarm(2);
    pause();
    EXPECT(raised == SIGALRM);
}

int main(int argc, char **argv)
{
    open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    EXPECT(getpid() == getppid() + 1 + rank);
    options(argc, argv);
    random_numbers();
    texts();
    places();
    numbers();
    signals();
    PMI_Barrier();
    printf("own\n");
    return 0;
}
