/* Rank 1 ends as the argument says. */
#include "common.h"
#include <assert.h>
#include <signal.h>
#include <unistd.h>

static int deeper(volatile char *above)
{
    volatile char here[4096];
    here[0] = above ? above[0] : 0;
    return deeper(here) + here[0];
}

int main(int argc, char **argv)
{
    volatile int zero = 0;
    ptl_ct_event_t count;
    ptl_handle_ct_t ct;
    ptl_handle_ni_t ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    const char *how = argc > 1 ? argv[1] : "";

    if (rank == 1) {
        if (!strcmp(how, "exit"))
            exit(7);
        if (!strcmp(how, "return"))
            return 9;
        if (!strcmp(how, "abort"))
            abort();
        if (!strcmp(how, "assert"))
            assert(zero == 1);
        if (!strcmp(how, "divide"))
            return 1000 / zero;
        if (!strcmp(how, "null"))
            return *(volatile int *)8;
        if (!strcmp(how, "stack"))
            return deeper(NULL);
        if (!strcmp(how, "alarm")) {
            alarm(2);
            sleep(10);
        }
        if (!strcmp(how, "deadlock")) {
            OK(PtlCTAlloc(ni, &ct));
            OK(PtlCTWait(ct, 5, &count));
        }
    }
    return 0;
}
