/* How much simulated time computing takes: prints it in nanoseconds, for a loop (as often as is asked for) and for a thousand calls. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    volatile double x = 1;
    long begin = now();
    while (times-- > 0)
        for (int n = 0; n < 3000000; n++)
            x = x * 1.0000001 + 1e-9;
    long middle = now();
    for (int n = 0; n < 999; n++)
        now();
    printf("%ld %ld\n", middle - begin, now() - middle);
    return 0;
}
