/* Polls memory, and sends itself at every look what the kernel sends for a step whose reason the processor has lost. With an argument it ends by `int1` after one of them. */
#define _GNU_SOURCE
#include "common.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* By instructions, not functions: nothing of the simulator lies between. */
static long system_call(long number, long first, long second, long third, long fourth)
{
    register long r10 __asm__("r10") = fourth;
    long code;
    /* What it leaves in registers must not hang on whether it is followed. */
    __asm__ volatile("syscall\n\txor %%r11d, %%r11d" : "=a"(code) : "a"(number), "D"(first), "S"(second), "d"(third), "r"(r10) : "rcx", "r11", "memory");
    return code;
}

enum { GETPID = 39, GETTID = 186, QUEUE_TO_THREAD = 297, GETRANDOM = 318 };

static void lose(void)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = SIGTRAP;
    info.si_code = TRAP_BRKPT;
    EXPECT(system_call(QUEUE_TO_THREAD, system_call(GETPID, 0, 0, 0, 0), system_call(GETTID, 0, 0, 0, 0), SIGTRAP, (long)&info) == 0);
}

/* Each look takes a while, in the kernel: the timer must ring between two signals. */
static void look(void)
{
    static char random[1 << 16];
    lose();
    EXPECT(system_call(GETRANDOM, (long)random, sizeof random, 0, 0) > 0);
}

int main(int argc, char **argv)
{
    (void)argv;
    ptl_handle_ni_t ni = open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    static volatile uint64_t box;
    ptl_handle_le_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;
    uint64_t one = 1;
    struct timespec t;

    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_le_t le = { .start = (void *)&box, .length = 8, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY, .options = PTL_LE_OP_PUT };
    OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = &one, .length = 8, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    lose();
    if (argc > 1)
        __asm__ volatile(".byte 0xf1");
    if (rank == 0)
        OK(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(1), pt, 0, 0, NULL, 0));
    else {
        while (!box)
            look();
        clock_gettime(CLOCK_MONOTONIC, &t);
        printf("seen at %ld\n", t.tv_nsec);
    }
    PMI_Barrier();
    return 0;
}
