/* Every operation on every datatype, alone, fetching and as a swap, at the next rank; what C computes is what must be there. */
#include "common.h"
#include <complex.h>

#define COUNT 4
static ptl_handle_ni_t ni;
static ptl_handle_ct_t ct;
static ptl_handle_md_t md;
static struct {
    _Alignas(32) unsigned char source[COUNT * 32], fetched[COUNT * 32];
} own;
static _Alignas(32) unsigned char target[COUNT * 32];
static ptl_size_t done;
static int cases;

static void finish(void)
{
    ptl_ct_event_t count;
    OK(PtlCTWait(ct, ++done, &count));
    EXPECT(count.failure == 0);
    cases++;
}

/* Alone (acknowledged) and fetching; the target is this rank's own next, so all do the same at the same time. */
static void atomic(int op, int type, size_t bytes, const void *before, const void *with, const void *after, int what)
{
    for (int fetching = 0; fetching < 2; fetching++) {
        memcpy(target, before, bytes);
        PMI_Barrier();
        memcpy(own.source, with, bytes);
        memset(own.fetched, 0xee, bytes);
        if (fetching)
            OK(PtlFetchAtomic(md, sizeof own.source, md, 0, bytes, to_rank((rank + 1) % size), 0, 0, 0, NULL, 0, op, type));
        else
            OK(PtlAtomic(md, 0, bytes, PTL_ACK_REQ, to_rank((rank + 1) % size), 0, 0, 0, NULL, 0, op, type));
        finish();
        PMI_Barrier();
        if (memcmp(target, after, what) || (fetching && memcmp(own.fetched, before, what)))
            fprintf(stderr, "operation %d, datatype %d, fetching %d\n", op, type, fetching);
        EXPECT(memcmp(target, after, what) == 0);
        EXPECT(!fetching || memcmp(own.fetched, before, what) == 0);
    }
}

static void swap(int op, int type, size_t bytes, const void *before, const void *with, const void *operand, const void *after, int what)
{
    memcpy(target, before, bytes);
    PMI_Barrier();
    memcpy(own.source, with, bytes);
    OK(PtlSwap(md, sizeof own.source, md, 0, bytes, to_rank((rank + 1) % size), 0, 0, 0, NULL, 0, operand, op, type));
    finish();
    PMI_Barrier();
    if (memcmp(target, after, what) || memcmp(own.fetched, before, what))
        fprintf(stderr, "swap %d, datatype %d\n", op, type);
    EXPECT(memcmp(target, after, what) == 0 && memcmp(own.fetched, before, what) == 0);
}

#define EACH(T, type, op, expression)                                  \
    do {                                                               \
        T before[COUNT], with[COUNT], after[COUNT];                    \
        memset(before, 0, sizeof before), memset(with, 0, sizeof with), memset(after, 0, sizeof after); \
        for (int n = 0; n < COUNT; n++) {                              \
            T a = (T)(5 * n + 3), b = (T)(n == 2 ? 0 : 7 - 2 * n);     \
            before[n] = a, with[n] = b, after[n] = (T)(expression);    \
        }                                                              \
        atomic(op, type, sizeof before, before, with, after, WHAT(T)); \
    } while (0)
/* Of a long double 10 bytes are its own. */
#define WHAT(T) (sizeof(T) == sizeof(long double) && (T)0.5 != (T)0 ? 10 : (int)(COUNT * sizeof(T)))

#define SUMS(T, type)                       \
    EACH(T, type, PTL_SUM, a + b);          \
    EACH(T, type, PTL_PROD, a * b)
#define ORDERED(T, type)                    \
    SUMS(T, type);                          \
    EACH(T, type, PTL_MIN, a < b ? a : b);  \
    EACH(T, type, PTL_MAX, a > b ? a : b)
#define INTEGER(T, type)                    \
    ORDERED(T, type);                       \
    EACH(T, type, PTL_LOR, a || b);         \
    EACH(T, type, PTL_LAND, a && b);        \
    EACH(T, type, PTL_LXOR, !a != !b);      \
    EACH(T, type, PTL_BOR, a | b);          \
    EACH(T, type, PTL_BAND, a & b);         \
    EACH(T, type, PTL_BXOR, a ^ b)

/* One element; the operand is less than, equal to and greater than what is there. */
#define SWAP(T, type, op, bits, expression)                                             \
    for (int n = 0; n < 3; n++) {                                                       \
        T a, b, c, after;                                                               \
        memset(&a, 0, sizeof a), memset(&b, 0, sizeof b), memset(&c, 0, sizeof c), memset(&after, 0, sizeof after); \
        a = (T)50, b = (T)77, c = (T)(49 + n);                                          \
        after = (expression) ? b : a;                                                   \
        swap(op, type, sizeof a, &a, &b, &c, &after, bits);                             \
    }
#define EQUAL(T, type, bits)                              \
    SWAP(T, type, PTL_SWAP, bits, 1)                      \
    SWAP(T, type, PTL_CSWAP, bits, c == a)                \
    SWAP(T, type, PTL_CSWAP_NE, bits, c != a)
#define COMPARED(T, type, bits)                           \
    EQUAL(T, type, bits)                                  \
    SWAP(T, type, PTL_CSWAP_LE, bits, c <= a)             \
    SWAP(T, type, PTL_CSWAP_LT, bits, c < a)              \
    SWAP(T, type, PTL_CSWAP_GE, bits, c >= a)             \
    SWAP(T, type, PTL_CSWAP_GT, bits, c > a)
#define MASKED(T, type)                                                         \
    do {                                                                        \
        T a = (T)0x5a, b = (T)0x33, mask = (T)0x0f, after = (T)((a & ~mask) | (b & mask)); \
        swap(PTL_MSWAP, type, sizeof a, &a, &b, &mask, &after, sizeof a);       \
    } while (0)
#define WHOLE(T, type)               \
    INTEGER(T, type);                \
    COMPARED(T, type, sizeof(T))     \
    MASKED(T, type)

int main(void)
{
    ptl_handle_me_t list;
    ptl_pt_index_t pt;
    ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, NULL);
    OK(PtlCTAlloc(ni, &ct));
    OK(PtlPTAlloc(ni, 0, PTL_EQ_NONE, 0, &pt));
    ptl_me_t me = entry(target, sizeof target, PTL_ME_OP_PUT | PTL_ME_OP_GET, 0);
    OK(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &list));
    ptl_md_t descriptor = { .start = &own, .length = sizeof own, .options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY,
                            .eq_handle = PTL_EQ_NONE, .ct_handle = ct };
    OK(PtlMDBind(ni, &descriptor, &md));
    PMI_Barrier();
    WHOLE(int8_t, PTL_INT8_T);
    WHOLE(uint8_t, PTL_UINT8_T);
    WHOLE(int16_t, PTL_INT16_T);
    WHOLE(uint16_t, PTL_UINT16_T);
    WHOLE(int32_t, PTL_INT32_T);
    WHOLE(uint32_t, PTL_UINT32_T);
    WHOLE(int64_t, PTL_INT64_T);
    WHOLE(uint64_t, PTL_UINT64_T);
    ORDERED(float, PTL_FLOAT);
    ORDERED(double, PTL_DOUBLE);
    ORDERED(long double, PTL_LONG_DOUBLE);
    COMPARED(float, PTL_FLOAT, sizeof(float))
    COMPARED(double, PTL_DOUBLE, sizeof(double))
    COMPARED(long double, PTL_LONG_DOUBLE, 10)
    SUMS(float complex, PTL_FLOAT_COMPLEX);
    SUMS(double complex, PTL_DOUBLE_COMPLEX);
    EQUAL(float complex, PTL_FLOAT_COMPLEX, sizeof(float complex))
    EQUAL(double complex, PTL_DOUBLE_COMPLEX, sizeof(double complex))
    EQUAL(long double complex, PTL_LONG_DOUBLE_COMPLEX, 10)
    if (rank == 0)
        printf("%d cases\n", cases);
    return 0;
}
