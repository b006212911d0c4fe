/* Two ranks read their clocks, exchange what they show, and the earlier one wins; while both show the same they try again. */
#include "common.h"
#include <time.h>

int main(void)
{
    struct timespec t;
    char key[32], value[32];
    long own, theirs;
    int spawned, tries;

    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    for (tries = 1; tries <= 50; tries++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        own = t.tv_sec * 1000000000L + t.tv_nsec;
        sprintf(key, "%d-%d", tries, rank);
        sprintf(value, "%ld", own);
        PMI_KVS_Put("", key, value);
        PMI_Barrier();
        sprintf(key, "%d-%d", tries, 1 - rank);
        EXPECT(PMI_KVS_Get("", key, value, sizeof value) == PMI_SUCCESS);
        theirs = atol(value);
        if (own != theirs)
            break;
    }
    if (rank == 0)
        printf("%s after %d\n", tries > 50 ? "tied" : own < theirs ? "first" : "second", tries);
    return 0;
}
