/* Rank 1 looks at many words in a loop without any call; rank 0 changes all of them at once. Which of them is seen first is printed. The loop has a shape of its own each time. */
#include "common.h"

#define WORDS 64
#define SHAPES 5

static volatile uint64_t box[WORDS];

/* One look after the other, without a counter. */
static __attribute__((noinline)) long straight(void)
{
    for (;;) {
        if (box[3]) return 3;
        if (box[1]) return 1;
        if (box[7]) return 7;
        if (box[5]) return 5;
    }
}

/* A counter in a register: each instruction comes once for each word. */
static __attribute__((noinline)) long counted(void)
{
    for (long n = 0;; n = n + 1 == WORDS ? 0 : n + 1)
        if (box[n])
            return n;
}

/* A counter in the frame. */
static __attribute__((noinline, optimize("O0"))) long framed(void)
{
    volatile long n = 0;
    while (!box[n]) {
        n++;
        n = n == WORDS ? 0 : n;
    }
    return n;
}

/* Each look is a function's own. */
static __attribute__((noinline)) int one(long n) { return box[n] != 0; }
static __attribute__((noinline)) long called(void)
{
    for (;;)
        for (long n = WORDS - 1; n >= 0; n -= 5)
            if (one(n))
                return n;
}

/* The loop's lowest instructions have the clock in registers: their states never come back. */
static __attribute__((noinline)) long ticking(void)
{
    long word;
    __asm__ volatile("jmp 2f\n"
                     "1: nop\n\txor %%eax, %%eax\n\txor %%edx, %%edx\n"
                     "2: mov $2, %0\n\tcmpq $0, 16+%1\n\tjne 3f\n\t"
                     "mov $9, %0\n\tcmpq $0, 72+%1\n\tjne 3f\n\t"
                     "rdtsc\n\tjmp 1b\n3:"
                     : "=&r"(word) : "m"(box[0]) : "rax", "rdx", "cc", "memory");
    return word;
}

int main(void)
{
    static long (*const shapes[SHAPES])(void) = { straight, counted, framed, called, ticking };
    static uint64_t ones[WORDS];
    ptl_handle_ni_t ni = open_interface(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL);
    ptl_handle_le_t list;
    ptl_handle_md_t md;
    ptl_pt_index_t pt;

    for (int n = 0; n < WORDS; n++)
        ones[n] = 1;
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_le_t le = { .start = (void *)box, .length = sizeof box, .ct_handle = PTL_CT_NONE, .uid = PTL_UID_ANY, .options = PTL_LE_OP_PUT };
    OK(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = ones, .length = sizeof ones, .eq_handle = PTL_EQ_NONE, .ct_handle = PTL_CT_NONE };
    OK(PtlMDBind(ni, &descriptor, &md));
    for (int shape = 0; shape < SHAPES; shape++) {
        PMI_Barrier();
        if (rank == 0)
            OK(PtlPut(md, 0, sizeof ones, PTL_NO_ACK_REQ, to_rank(1), pt, 0, 0, NULL, 0));
        else {
            printf("shape %d: word %ld first\n", shape, shapes[shape]());
            for (int n = 0; n < WORDS; n++)
                box[n] = 0;
        }
    }
    PMI_Barrier();
    return 0;
}
