/* Rank 1 ends as the argument says. */
#include "common.h"
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf place;

static void jump(int number)
{
    siglongjmp(place, number);
}

static void at_end(void)
{
    fprintf(stderr, "quickly\n");
}

__attribute__((noinline, optimize("stack-protector-all"))) static void smash(volatile int bytes)
{
    char here[8];
    memset(here, 'x', bytes);
    __asm__ volatile("" : : "r"(here) : "memory");
}

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
        if (!strcmp(how, "raise"))
            raise(SIGABRT);
        if (!strcmp(how, "kill"))
            kill(getpid(), SIGTERM);
        if (!strcmp(how, "quick")) {
            at_quick_exit(at_end);
            quick_exit(5);
        }
        if (!strcmp(how, "_exit"))
            _exit(6);
        /* By number, so that no function of ours is asked for by its name. */
        if (!strcmp(how, "exit_group"))
            syscall(SYS_exit_group, 13);
        if (!strcmp(how, "SYS_exit"))
            syscall(SYS_exit, 14);
        if (!strcmp(how, "SYS_kill"))
            syscall(SYS_kill, getpid(), SIGKILL);
        if (!strcmp(how, "tgkill"))
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGTERM);
        if (!strcmp(how, "SYS_fork"))
            exit(syscall(SYS_fork) == -1 && syscall(SYS_execve, "true", NULL, NULL) == -1 ? 4 : 0);
        if (!strcmp(how, "breakpoint"))
            __asm__ volatile("int3");
        if (!strcmp(how, "int1"))
            __asm__ volatile(".byte 0xf1");
        if (!strcmp(how, "free")) {
            char *volatile block = malloc(40);
            free(block);
            free(block);
        }
        if (!strcmp(how, "smash"))
            smash(64);
        if (!strcmp(how, "fork"))
            exit(fork() == -1 && execlp("true", "true", NULL) == -1 && system("true") == -1 ? 4 : 0);
        if (!strcmp(how, "handled")) {
            signal(SIGSEGV, jump);
            if (!sigsetjmp(place, 1))
                *(volatile int *)8 = 1;
            exit(3);
        }
        if (!strcmp(how, "job"))
            PMI_Abort(9, "enough");
        if (!strcmp(how, "good"))
            PMI_Abort(0, "done");
        if (!strcmp(how, "reopen")) {
            if (!freopen("/dev/null", "w", stdout))
                exit(1);
            printf("nobody sees this\n");
            exit(2);
        }
        if (!strcmp(how, "close")) {
            fclose(stdout);
            close(2);
            exit(write(1, "", 1) == -1 && write(2, "", 1) == -1 ? 8 : 0);
        }
        if (!strcmp(how, "deadlock")) {
            OK(PtlCTAlloc(ni, &ct));
            OK(PtlCTWait(ct, 5, &count));
        }
    }
    /* Others end in order, whatever became of rank 1. */
    if (!strcmp(how, "job") || !strcmp(how, "good"))
        PMI_Barrier();
    printf("rank %d is done\n", rank);
    return 0;
}
