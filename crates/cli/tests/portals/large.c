/* Rank 2 has an array larger than its stack, and touches the lower end of it first: its own end, and nobody else's. */
#include "common.h"
#include <unistd.h>

#ifndef BYTES
#define BYTES (20 << 20)
#endif

static __attribute__((noinline)) int large(void)
{
    volatile char bytes[BYTES];
    for (long n = 0; n < 60000; n++)
        bytes[n] = 0x5a;
    return bytes[rank];
}

int main(void)
{
    volatile char own[60000];
    int spawned, changed = 0;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    memset((char *)own, rank + 1, sizeof own);
    PMI_Barrier();
    if (rank == 2)
        EXPECT(large() == 0x5a);
    else
        usleep(1);
    for (int n = 0; n < (int)sizeof own; n++)
        changed += own[n] != rank + 1;
    EXPECT(changed == 0);
    printf("own\n");
    return 0;
}
