/* The code of every wrong use, call by call. All rows are looked at; those that differ are printed. */
#include "common.h"

static int wrong, rows;

static void row(const char *what, int found, int expected)
{
    rows++;
    if (found != expected) {
        wrong++;
        fprintf(stderr, "rank %d: %s returned %d, not %d\n", rank, what, found, expected);
    }
}
#define ROW(call, code) row(#call, (call), code)

static ptl_handle_ni_t ni, plain, physical;
static ptl_handle_eq_t eq;
static ptl_handle_ct_t ct;
static ptl_handle_md_t md, elsewhere;
static ptl_handle_me_t handle;
static ptl_pt_index_t pt, other;
static ptl_event_t event;
static ptl_ct_event_t zero, one = { 1, 0 }, both = { 1, 1 }, count;
static ptl_process_t self, map[4];
static ptl_uid_t uid;
static ptl_size_t size_out, tests[2] = { 5, 5 };
static ptl_me_t me;
static ptl_le_t le;
static ptl_md_t descriptor;
static int status;
static unsigned int which;
static char memory[4096];

/* Every call that takes a handle, with handles that name nothing of the kind: `any` is one of another kind, or none at all. */
static void all_calls(ptl_handle_any_t any, int code)
{
    ROW(PtlNIFini(any), code);
    ROW(PtlNIStatus(any, PTL_SR_DROP_COUNT, &status), code);
    ROW(PtlSetMap(any, 1, map), code);
    ROW(PtlGetMap(any, 1, map, &size_out), code);
    ROW(PtlPTAlloc(any, 0, PTL_EQ_NONE, PTL_PT_ANY, &other), code);
    ROW(PtlPTFree(any, 0), code);
    ROW(PtlPTDisable(any, 0), code);
    ROW(PtlPTEnable(any, 0), code);
    ROW(PtlGetUid(any, &uid), code);
    ROW(PtlGetId(any, &self), code);
    ROW(PtlGetPhysId(any, &self), code);
    ROW(PtlMDBind(any, &descriptor, &elsewhere), code);
    ROW(PtlLEAppend(any, 0, &le, PTL_PRIORITY_LIST, NULL, &handle), code);
    ROW(PtlLESearch(any, 0, &le, PTL_SEARCH_ONLY, NULL), code);
    ROW(PtlMEAppend(any, 0, &me, PTL_PRIORITY_LIST, NULL, &handle), code);
    ROW(PtlMESearch(any, 0, &me, PTL_SEARCH_ONLY, NULL), code);
    ROW(PtlCTAlloc(any, &ct), code);
    ROW(PtlEQAlloc(any, 4, &eq), code);
    ROW(PtlTriggeredMEAppend(any, 0, &me, PTL_PRIORITY_LIST, NULL, &handle, any, 1), code);
    ROW(PtlStartBundle(any), code);
    ROW(PtlEndBundle(any), code);
    ROW(PtlMDRelease(any), code);
    ROW(PtlLEUnlink(any), code);
    ROW(PtlMEUnlink(any), code);
    ROW(PtlTriggeredMEUnlink(any, any, 1), code);
    ROW(PtlCTFree(any), code);
    ROW(PtlCTCancelTriggered(any), code);
    ROW(PtlCTGet(any, &count), code);
    ROW(PtlCTWait(any, 1, &count), code);
    ROW(PtlCTPoll(&any, tests, 1, 0, &count, &which), code);
    ROW(PtlCTSet(any, zero), code);
    ROW(PtlCTInc(any, one), code);
    ROW(PtlTriggeredCTInc(any, one, any, 1), code);
    ROW(PtlTriggeredCTSet(any, one, any, 1), code);
    ROW(PtlEQFree(any), code);
    ROW(PtlEQGet(any, &event), code);
    ROW(PtlEQWait(any, &event), code);
    ROW(PtlEQPoll(&any, 1, 0, &event, &which), code);
    ROW(PtlPut(any, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), code);
    ROW(PtlGet(any, 0, 8, to_rank(0), 0, 0, 0, NULL), code);
    ROW(PtlAtomic(any, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), code);
    ROW(PtlFetchAtomic(any, 0, any, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), code);
    ROW(PtlSwap(any, 0, any, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT64_T), code);
    ROW(PtlTriggeredPut(any, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, any, 1), code);
    ROW(PtlTriggeredGet(any, 0, 8, to_rank(0), 0, 0, 0, NULL, any, 1), code);
    ROW(PtlTriggeredAtomic(any, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T, any, 1), code);
    ROW(PtlTriggeredFetchAtomic(any, 0, any, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T, any, 1), code);
    ROW(PtlTriggeredSwap(any, 0, any, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, NULL, PTL_SWAP, PTL_INT64_T, any, 1), code);
}

static void tables_and_entries(void)
{
    ROW(PtlPTAlloc(ni, 1 << 5, eq, PTL_PT_ANY, &other), PTL_ARG_INVALID);
    ROW(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &other), PTL_PT_EQ_NEEDED);
    ROW(PtlPTAlloc(ni, 0, ct, PTL_PT_ANY, &other), PTL_ARG_INVALID);
    ROW(PtlPTAlloc(plain, 0, eq, PTL_PT_ANY, &other), PTL_ARG_INVALID);
    ROW(PtlPTAlloc(ni, 0, eq, 64, &other), PTL_ARG_INVALID);
    ROW(PtlPTAlloc(ni, 0, eq, pt, &other), PTL_PT_IN_USE);
    for (int n = 0; n < 63; n++)
        ROW(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &other), PTL_OK);
    ROW(PtlPTAlloc(ni, 0, PTL_EQ_NONE, PTL_PT_ANY, &other), PTL_PT_FULL);
    ROW(PtlPTFree(ni, other), PTL_OK);
    ROW(PtlPTFree(ni, other), PTL_ARG_INVALID);
    ROW(PtlPTDisable(ni, other), PTL_ARG_INVALID);
    ROW(PtlPTEnable(ni, other), PTL_ARG_INVALID);
    ROW(PtlMEAppend(ni, other, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    ROW(PtlMESearch(ni, other, &me, PTL_SEARCH_ONLY, NULL), PTL_ARG_INVALID);
    ROW(PtlMEAppend(ni, pt, &me, 2, NULL, &handle), PTL_ARG_INVALID);
    ROW(PtlMESearch(ni, pt, &me, 2, NULL), PTL_ARG_INVALID);
    ROW(PtlMEAppend(ni, pt, NULL, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    ROW(PtlLEAppend(ni, pt, &le, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    ROW(PtlLESearch(ni, pt, &le, PTL_SEARCH_ONLY, NULL), PTL_ARG_INVALID);
    ROW(PtlPTAlloc(plain, 0, PTL_EQ_NONE, PTL_PT_ANY, &other), PTL_OK);
    ROW(PtlMEAppend(plain, other, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    ROW(PtlMESearch(plain, other, &me, PTL_SEARCH_ONLY, NULL), PTL_ARG_INVALID);
    le.options |= PTL_ME_MANAGE_LOCAL;
    ROW(PtlLEAppend(plain, other, &le, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    le.options = PTL_LE_OP_PUT;
    ROW(PtlLEAppend(plain, other, &le, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
    ROW(PtlPTFree(plain, other), PTL_IN_USE);
    ROW(PtlLEUnlink(handle), PTL_OK);
    ROW(PtlLEUnlink(handle), PTL_ARG_INVALID);
    ROW(PtlPTFree(plain, other), PTL_OK);
    me.options |= 1 << 20;
    ROW(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    me.options = PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE;
    me.ct_handle = eq;
    ROW(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_ARG_INVALID);
    me.ct_handle = PTL_CT_NONE;
    for (int n = 0; n < 3; n++)
        ROW(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_OK);
    ROW(PtlMEAppend(ni, pt, &me, PTL_PRIORITY_LIST, NULL, &handle), PTL_LIST_TOO_LONG);
    ROW(PtlMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, NULL, &handle), PTL_OK);
    ROW(PtlMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, NULL, &handle), PTL_NO_SPACE);
    ROW(PtlTriggeredMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, NULL, &handle, ct, 1), PTL_NO_SPACE);
    ROW(PtlMEUnlink(handle), PTL_OK);
    ROW(PtlTriggeredMEAppend(ni, pt, &me, PTL_OVERFLOW_LIST, NULL, &handle, PTL_CT_NONE, 1), PTL_ARG_INVALID);
}

static void descriptors_queues_counters(void)
{
    ptl_handle_eq_t more;
    ptl_handle_any_t none[1] = { 0 };
    ROW(PtlMDBind(ni, NULL, &elsewhere), PTL_ARG_INVALID);
    descriptor.options = 1 << 12;
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_ARG_INVALID);
    descriptor.options = PTL_IOVEC;
    descriptor.length = 100;
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_ARG_INVALID);
    descriptor.options = 0;
    descriptor.length = sizeof memory;
    descriptor.eq_handle = ct;
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_ARG_INVALID);
    descriptor.eq_handle = PTL_EQ_NONE;
    descriptor.ct_handle = eq;
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_ARG_INVALID);
    descriptor.ct_handle = PTL_CT_NONE;
    ROW(PtlMDBind(ni, &descriptor, &md), PTL_OK);
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_OK);
    ROW(PtlMDBind(ni, &descriptor, &elsewhere), PTL_NO_SPACE);
    ROW(PtlMDRelease(elsewhere), PTL_OK);
    ROW(PtlMDRelease(elsewhere), PTL_ARG_INVALID);
    ROW(PtlEQAlloc(ni, 1, &more), PTL_NO_SPACE);
    ROW(PtlEQGet(eq, &event), PTL_EQ_EMPTY);
    ROW(PtlEQGet(eq, NULL), PTL_EQ_EMPTY);
    ROW(PtlEQPoll(&eq, 0, 0, &event, &which), PTL_ARG_INVALID);
    ROW(PtlEQPoll(&eq, 1, 1, &event, &which), PTL_EQ_EMPTY);
    ROW(PtlEQPoll(none, 1, 1, &event, &which), PTL_ARG_INVALID);
    ROW(PtlCTInc(ct, both), PTL_ARG_INVALID);
    ROW(PtlCTGet(ct, NULL), PTL_ARG_INVALID);
    ROW(PtlCTPoll(&ct, tests, 0, 0, &count, &which), PTL_ARG_INVALID);
    ROW(PtlCTPoll(&ct, tests, 1, 1, &count, &which), PTL_CT_NONE_REACHED);
    ROW(PtlTriggeredCTInc(ct, one, ct, 3), PTL_OK);
    ROW(PtlTriggeredCTInc(ct, one, ct, 3), PTL_OK);
    ROW(PtlTriggeredCTInc(ct, one, ct, 3), PTL_NO_SPACE);
    ROW(PtlTriggeredCTSet(ct, one, ct, 3), PTL_NO_SPACE);
    ROW(PtlTriggeredPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, ct, 3), PTL_NO_SPACE);
    ROW(PtlTriggeredMEUnlink(handle, ct, 3), PTL_ARG_INVALID);
    ROW(PtlCTCancelTriggered(ct), PTL_OK);
    ROW(PtlNIStatus(ni, (ptl_sr_index_t)3, &status), PTL_ARG_INVALID);
    ROW(PtlNIStatus(ni, PTL_SR_DROP_COUNT, NULL), PTL_ARG_INVALID);
    ROW(PtlNIHandle(PTL_INVALID_HANDLE, &plain), PTL_ARG_INVALID);
    ROW(PtlNIHandle(elsewhere, &physical), PTL_ARG_INVALID);
}

static void movement(void)
{
    ROW(PtlPut(md, 0, sizeof memory + 1, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, 8, sizeof memory, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, PTL_SIZE_MAX, 2, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, 0, 2049, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, 0, 8, 4, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(size), 0, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 64, 0, 0, NULL, 0), PTL_ARG_INVALID);
    ROW(PtlGet(md, 0, 2049, to_rank(0), 0, 0, 0, NULL), PTL_ARG_INVALID);
    ROW(PtlGet(md, 4090, 8, to_rank(0), 0, 0, 0, NULL), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_OP_LAST, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_DATATYPE_LAST), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SWAP, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_BXOR, PTL_DOUBLE), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_MIN, PTL_FLOAT_COMPLEX), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 12, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlAtomic(md, 0, 2048, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlFetchAtomic(md, 0, ct, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlFetchAtomic(md, 4092, md, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, PTL_SUM, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlFetchAtomic(md, 0, md, 0, 8, to_rank(0), 0, 0, 0, NULL, 0, PTL_MSWAP, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlSwap(md, 0, md, 8, 8, to_rank(0), 0, 0, 0, NULL, 0, memory, PTL_SUM, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlSwap(md, 0, md, 8, 16, to_rank(0), 0, 0, 0, NULL, 0, memory, PTL_CSWAP, PTL_INT64_T), PTL_ARG_INVALID);
    ROW(PtlSwap(md, 0, md, 8, 8, to_rank(0), 0, 0, 0, NULL, 0, memory, PTL_MSWAP, PTL_DOUBLE), PTL_ARG_INVALID);
    ROW(PtlSwap(md, 0, md, 8, 8, to_rank(0), 0, 0, 0, NULL, 0, NULL, PTL_CSWAP, PTL_INT64_T), PTL_ARG_INVALID);
}

int main(void)
{
    ptl_ni_limits_t wish, granted;
    all_calls(0, PTL_NO_INIT);
    ROW(PtlAtomicSync(), PTL_NO_INIT);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_INIT);
    ROW(PtlNIHandle(0, &ni), PTL_NO_INIT);
    memset(&wish, 0x7f, sizeof wish);
    wish.max_entries = 4, wish.max_list_size = 3, wish.max_mds = 2, wish.max_cts = 1, wish.max_eqs = 1, wish.max_pt_index = 4;
    wish.max_triggered_ops = 2, wish.max_msg_size = 2048, wish.max_atomic_size = 1024, wish.max_iovecs = 4;
    ni = open_interface(PTL_NI_MATCHING | PTL_NI_LOGICAL, &wish);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, 0, PTL_PID_ANY, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, 16 | 5, PTL_PID_ANY, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(3, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_MAX, NULL, NULL, &plain), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, 77, NULL, NULL, &plain), PTL_PID_IN_USE);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, NULL, NULL), PTL_ARG_INVALID);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, NULL, &granted, &plain), PTL_OK);
    ROW(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &physical), PTL_OK);
    ROW(PtlSetMap(physical, 1, map), PTL_ARG_INVALID);
    ROW(PtlGetMap(physical, 1, map, &size_out), PTL_ARG_INVALID);
    ROW(PtlGetMap(plain, 1, map, &size_out), PTL_NO_SPACE);
    ROW(PtlSetMap(plain, 0, map), PTL_ARG_INVALID);
    ROW(PtlSetMap(plain, 1, NULL), PTL_ARG_INVALID);
    ROW(PtlSetMap(ni, 1, map), PTL_IGNORED);
    descriptor.start = memory, descriptor.length = 64, descriptor.eq_handle = PTL_EQ_NONE, descriptor.ct_handle = PTL_CT_NONE;
    ROW(PtlMDBind(plain, &descriptor, &md), PTL_OK);
    ROW(PtlPut(md, 0, 8, PTL_NO_ACK_REQ, to_rank(0), 0, 0, 0, NULL, 0), PTL_ARG_INVALID); /* no map */
    all_calls(PTL_INVALID_HANDLE, PTL_ARG_INVALID);
    all_calls(0, PTL_ARG_INVALID);
    OK(PtlEQAlloc(ni, 4, &eq));
    OK(PtlCTAlloc(ni, &ct));
    ROW(PtlCTAlloc(ni, &handle), PTL_NO_SPACE);
    OK(PtlPTAlloc(ni, 0, eq, PTL_PT_ANY, &pt));
    me = entry(memory, 64, PTL_ME_OP_PUT | PTL_ME_EVENT_LINK_DISABLE, 0);
    le.start = memory, le.length = 64, le.ct_handle = PTL_CT_NONE, le.uid = PTL_UID_ANY, le.options = PTL_LE_OP_PUT;
    descriptor.length = sizeof memory;
    tables_and_entries();
    descriptors_queues_counters();
    movement();
    OK(PtlNIFini(physical));
    all_calls(physical, PTL_ARG_INVALID);
    PtlFini();
    all_calls(ni, PTL_NO_INIT);
    printf("%d rows, %d wrong\n", rows, wrong);
    return wrong != 0;
}
