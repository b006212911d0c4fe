/* Portals 4 in Bull's dialect, for programs that run in Netloom: handles are pointers and none of them is NULL, any process is 0, times are
   long, and numbers differ from Sandia's. Each call is translated here and goes on to the function that the other header names: the
   simulation knows one dialect. Calls whose names end in NB never have to be tried again. */
#ifndef PORTALS4_H
#define PORTALS4_H

#include <stddef.h>
#include <stdint.h>

#include <portals4_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_MAJOR_VERSION 4
#define PTL_MINOR_VERSION 0
#define PTL_IFACE_DEFAULT 0
#define PTL_SIZE_MAX ((1ULL << 48) - 1)
#define PTL_PID_MAX ((1 << 12) - 1)
#define PTL_TIME_FOREVER (-1)
#define PTL_CT_NONE NULL
#define PTL_EQ_NONE NULL
#define PTL_INVALID_HANDLE NULL
#define PTL_PT_ANY (~0)
#define PTL_PID_ANY 0x0
#define PTL_UID_ANY ((ptl_uid_t)0xffffffff)
#define PTL_NID_ANY 0x0
#define PTL_RANK_ANY 0x7fffff

#define PTL_NI_PHYSICAL (1 << 0)
#define PTL_NI_MATCHING (1 << 1)
#define PTL_NI_LOGICAL (1 << 2)
#define PTL_NI_NO_MATCHING (1 << 3)
#define PTL_UNRELIABLE 8
#define PTL_PT_ONLY_USE_ONCE 1
#define PTL_PT_ONLY_TRUNCATE 2
#define PTL_PT_FLOWCTRL 4

#define PTL_CT_ACK_REQ 1
#define PTL_OC_ACK_REQ 2
#define PTL_ACK_REQ 3

/* How operations fare, and what calls return: one row of numbers. */
#define PTL_NI_PERM_VIOLATION 1
#define PTL_NI_SEGV 2
#define PTL_NI_PT_DISABLED 3
#define PTL_NI_DROPPED 4
#define PTL_NI_UNDELIVERABLE 5
#define PTL_NI_NO_MATCH 9
#define PTL_NI_TARGET_INVALID 10
#define PTL_NI_OP_VIOLATION 11
#define PTL_OK 0
#define PTL_FAIL 6
#define PTL_ARG_INVALID 7
#define PTL_IN_USE 8
#define PTL_CT_NONE_REACHED 32
#define PTL_EQ_DROPPED 33
#define PTL_EQ_EMPTY 34
#define PTL_IGNORED 36
#define PTL_INTERRUPTED 37
#define PTL_LIST_TOO_LONG 38
#define PTL_NO_INIT 39
#define PTL_NO_SPACE 40
#define PTL_PID_IN_USE 41
#define PTL_PT_FULL 42
#define PTL_PT_EQ_NEEDED 43
#define PTL_PT_IN_USE 44
#define PTL_SIZE_INVALID 45
#define PTL_TRY_AGAIN 46

#define PTL_IOVEC 0x80
#define PTL_ME_EVENT_COMM_DISABLE 0x1
#define PTL_ME_EVENT_SUCCESS_DISABLE 0x2
#define PTL_ME_EVENT_OVER_DISABLE 0x4
#define PTL_ME_EVENT_LINK_DISABLE 0x8
#define PTL_ME_EVENT_CT_BYTES 0x10
#define PTL_ME_EVENT_CT_OVERFLOW 0x20
#define PTL_ME_EVENT_CT_COMM 0x40
#define PTL_ME_OP_PUT 0x100
#define PTL_ME_OP_GET 0x200
#define PTL_ME_USE_ONCE 0x400
#define PTL_ME_ACK_DISABLE 0x800
#define PTL_ME_MAY_ALIGN 0x1000
#define PTL_ME_EVENT_UNLINK_DISABLE 0x2000
#define PTL_ME_MANAGE_LOCAL 0x4000
#define PTL_ME_NO_TRUNCATE 0x8000
#define PTL_ME_UNEXPECTED_HDR_DISABLE 0x10000
#define PTL_ME_EVENT_FLOWCTRL_DISABLE 0x20000
#define PTL_ME_IS_ACCESSIBLE 0x40000
#define PTL_MD_EVENT_SUCCESS_DISABLE 0x1
#define PTL_MD_EVENT_CT_SEND 0x2
#define PTL_MD_EVENT_CT_REPLY 0x4
#define PTL_MD_EVENT_CT_ACK 0x8
#define PTL_MD_EVENT_CT_BYTES 0x10
#define PTL_MD_UNORDERED 0x20
#define PTL_MD_EVENT_SEND_DISABLE 0x40
#define PTL_MD_VOLATILE 0x100

typedef enum ptl_event_kind {
    PTL_EVENT_GET,
    PTL_EVENT_GET_OVERFLOW,
    PTL_EVENT_PUT,
    PTL_EVENT_PUT_OVERFLOW,
    PTL_EVENT_ATOMIC,
    PTL_EVENT_ATOMIC_OVERFLOW,
    PTL_EVENT_FETCH_ATOMIC,
    PTL_EVENT_FETCH_ATOMIC_OVERFLOW,
    PTL_EVENT_REPLY,
    PTL_EVENT_SEND,
    PTL_EVENT_ACK,
    PTL_EVENT_PT_DISABLED,
    PTL_EVENT_AUTO_UNLINK,
    PTL_EVENT_AUTO_FREE,
    PTL_EVENT_SEARCH,
    PTL_EVENT_LINK
} ptl_event_kind_t;

typedef enum ptl_op {
    PTL_MIN = 0x0,
    PTL_MAX = 0x1,
    PTL_SUM = 0x2,
    PTL_PROD = 0x3,
    PTL_LOR = 0x4,
    PTL_LAND = 0x5,
    PTL_LXOR = 0x6,
    PTL_BOR = 0x8,
    PTL_BAND = 0x9,
    PTL_BXOR = 0xa,
    PTL_SWAP = 0xc,
    PTL_CSWAP_GT = 0x10,
    PTL_CSWAP_LT = 0x11,
    PTL_CSWAP_GE = 0x12,
    PTL_CSWAP_LE = 0x13,
    PTL_CSWAP = 0x14,
    PTL_CSWAP_NE = 0x15,
    PTL_MSWAP = 0x18
} ptl_op_t;

typedef enum ptl_datatype {
    PTL_INT8_T = 0x0,
    PTL_UINT8_T = 0x1,
    PTL_INT16_T = 0x2,
    PTL_UINT16_T = 0x3,
    PTL_INT32_T = 0x4,
    PTL_UINT32_T = 0x5,
    PTL_INT64_T = 0x6,
    PTL_UINT64_T = 0x7,
    PTL_FLOAT = 0xa,
    PTL_FLOAT_COMPLEX = 0xb,
    PTL_DOUBLE = 0xc,
    PTL_DOUBLE_COMPLEX = 0xd,
    PTL_LONG_DOUBLE = 0x14,
    PTL_LONG_DOUBLE_COMPLEX = 0x15
} ptl_datatype_t;

typedef unsigned int ptl_index_t;
typedef unsigned int ptl_ni_fail_t;
typedef unsigned int ptl_search_op_t;
typedef int ptl_ack_req_t;
typedef int ptl_interface_t;
typedef int ptl_uid_t;
typedef int ptl_list_t;
typedef long ptl_time_t; /* milliseconds */
typedef void *ptl_addr_t;
typedef void *ptl_handle_any_t;
typedef void *ptl_handle_ni_t;
typedef void *ptl_handle_md_t;
typedef void *ptl_handle_eq_t;
typedef void *ptl_handle_ct_t;
typedef void *ptl_handle_le_t;
typedef void *ptl_handle_me_t;

typedef union ptl_process {
    struct {
        ptl_nid_t nid;
        ptl_pid_t pid;
    } phys;
    ptl_rank_t rank;
} ptl_process_t;

typedef struct ptl_md {
    ptl_addr_t start;
    ptl_size_t length;
    unsigned int options;
    ptl_handle_eq_t eq_handle;
    ptl_handle_ct_t ct_handle;
} ptl_md_t;

typedef struct ptl_me {
    ptl_addr_t start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;
    union ptl_process match_id;
    ptl_match_bits_t match_bits;
    ptl_match_bits_t ignore_bits;
    ptl_size_t min_free;
} ptl_me_t;
typedef struct ptl_me ptl_le_t;

typedef struct ptl_event {
    ptl_addr_t start;
    void *user_ptr;
    ptl_hdr_data_t hdr_data;
    ptl_match_bits_t match_bits;
    ptl_size_t rlength, mlength, remote_offset;
    ptl_uid_t uid;
    union ptl_process initiator;
    ptl_event_kind_t type;
    ptl_list_t ptl_list;
    ptl_pt_index_t pt_index;
    ptl_ni_fail_t ni_fail_type;
    ptl_op_t atomic_operation;
    ptl_datatype_t atomic_type;
} ptl_event_t;

/* ---- The other side: Sandia's structures and numbers. ---- */

struct nl_md {
    void *start;
    uint64_t length;
    uint32_t options, eq, ct;
};
struct nl_me {
    void *start;
    uint64_t length;
    uint32_t ct, uid, options;
    ptl_process_t match_id;
    uint64_t match_bits, ignore_bits, min_free;
};
struct nl_event {
    void *start, *user_ptr;
    uint64_t hdr_data, match_bits, rlength, mlength, remote_offset;
    ptl_process_t initiator;
    uint32_t uid, pt_index;
    uint8_t type, list, fail, operation, datatype;
};

#define NL_REAL(name) __asm__(#name) __attribute__((weak))
#define NL_CALL static inline __attribute__((unused)) int
#define NL_MOVE uint64_t, uint64_t
extern int nl_Init(void) NL_REAL(PtlInit);
extern void nl_Fini(void) NL_REAL(PtlFini);
extern int nl_NIInit(uint32_t, uint32_t, uint32_t, const void *, void *, uint32_t *) NL_REAL(PtlNIInit);
extern int nl_NIFini(uint32_t) NL_REAL(PtlNIFini);
extern int nl_NIHandle(uint32_t, uint32_t *) NL_REAL(PtlNIHandle);
extern int nl_NIStatus(uint32_t, int, int *) NL_REAL(PtlNIStatus);
extern int nl_SetMap(uint32_t, uint64_t, const ptl_process_t *) NL_REAL(PtlSetMap);
extern int nl_GetMap(uint32_t, uint64_t, ptl_process_t *, uint64_t *) NL_REAL(PtlGetMap);
extern int nl_PTAlloc(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t *) NL_REAL(PtlPTAlloc);
extern int nl_PTFree(uint32_t, uint32_t) NL_REAL(PtlPTFree);
extern int nl_PTEnable(uint32_t, uint32_t) NL_REAL(PtlPTEnable);
extern int nl_PTDisable(uint32_t, uint32_t) NL_REAL(PtlPTDisable);
extern int nl_GetUid(uint32_t, ptl_uid_t *) NL_REAL(PtlGetUid);
extern int nl_GetId(uint32_t, ptl_process_t *) NL_REAL(PtlGetId);
extern int nl_GetPhysId(uint32_t, ptl_process_t *) NL_REAL(PtlGetPhysId);
extern int nl_MDBind(uint32_t, const struct nl_md *, uint32_t *) NL_REAL(PtlMDBind);
extern int nl_MDRelease(uint32_t) NL_REAL(PtlMDRelease);
extern int nl_LEAppend(uint32_t, uint32_t, const struct nl_me *, int, void *, uint32_t *) NL_REAL(PtlLEAppend);
extern int nl_LEUnlink(uint32_t) NL_REAL(PtlLEUnlink);
extern int nl_LESearch(uint32_t, uint32_t, const struct nl_me *, int, void *) NL_REAL(PtlLESearch);
extern int nl_MEAppend(uint32_t, uint32_t, const struct nl_me *, int, void *, uint32_t *) NL_REAL(PtlMEAppend);
extern int nl_MEUnlink(uint32_t) NL_REAL(PtlMEUnlink);
extern int nl_MESearch(uint32_t, uint32_t, const struct nl_me *, int, void *) NL_REAL(PtlMESearch);
extern int nl_EQAlloc(uint32_t, uint64_t, uint32_t *) NL_REAL(PtlEQAlloc);
extern int nl_EQFree(uint32_t) NL_REAL(PtlEQFree);
extern int nl_EQGet(uint32_t, struct nl_event *) NL_REAL(PtlEQGet);
extern int nl_EQWait(uint32_t, struct nl_event *) NL_REAL(PtlEQWait);
extern int nl_EQPoll(const uint32_t *, uint32_t, uint32_t, struct nl_event *, unsigned int *) NL_REAL(PtlEQPoll);
extern int nl_CTAlloc(uint32_t, uint32_t *) NL_REAL(PtlCTAlloc);
extern int nl_CTFree(uint32_t) NL_REAL(PtlCTFree);
extern int nl_CTCancelTriggered(uint32_t) NL_REAL(PtlCTCancelTriggered);
extern int nl_CTGet(uint32_t, ptl_ct_event_t *) NL_REAL(PtlCTGet);
extern int nl_CTWait(uint32_t, uint64_t, ptl_ct_event_t *) NL_REAL(PtlCTWait);
extern int nl_CTPoll(const uint32_t *, const uint64_t *, uint32_t, uint32_t, ptl_ct_event_t *, unsigned int *)
    NL_REAL(PtlCTPoll);
extern int nl_CTSet(uint32_t, ptl_ct_event_t) NL_REAL(PtlCTSet);
extern int nl_CTInc(uint32_t, ptl_ct_event_t) NL_REAL(PtlCTInc);
extern int nl_Put(uint32_t, NL_MOVE, int, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t) NL_REAL(PtlPut);
extern int nl_Get(uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *) NL_REAL(PtlGet);
extern int nl_Atomic(uint32_t, NL_MOVE, int, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, int, int) NL_REAL(PtlAtomic);
extern int nl_FetchAtomic(uint32_t, uint64_t, uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, int, int)
    NL_REAL(PtlFetchAtomic);
extern int nl_Swap(uint32_t, uint64_t, uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, const void *, int,
    int) NL_REAL(PtlSwap);
extern int nl_AtomicSync(void) NL_REAL(PtlAtomicSync);
extern int nl_TriggeredPut(uint32_t, NL_MOVE, int, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, uint32_t, uint64_t)
    NL_REAL(PtlTriggeredPut);
extern int nl_TriggeredGet(uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *, uint32_t, uint64_t)
    NL_REAL(PtlTriggeredGet);
extern int nl_TriggeredAtomic(uint32_t, NL_MOVE, int, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, int, int, uint32_t,
    uint64_t) NL_REAL(PtlTriggeredAtomic);
extern int nl_TriggeredFetchAtomic(uint32_t, uint64_t, uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t, int,
    int, uint32_t, uint64_t) NL_REAL(PtlTriggeredFetchAtomic);
extern int nl_TriggeredSwap(uint32_t, uint64_t, uint32_t, NL_MOVE, ptl_process_t, uint32_t, NL_MOVE, void *, uint64_t,
    const void *, int, int, uint32_t, uint64_t) NL_REAL(PtlTriggeredSwap);
extern int nl_TriggeredCTSet(uint32_t, ptl_ct_event_t, uint32_t, uint64_t) NL_REAL(PtlTriggeredCTSet);
extern int nl_TriggeredCTInc(uint32_t, ptl_ct_event_t, uint32_t, uint64_t) NL_REAL(PtlTriggeredCTInc);
extern int nl_StartBundle(uint32_t) NL_REAL(PtlStartBundle);
extern int nl_EndBundle(uint32_t) NL_REAL(PtlEndBundle);

/* ---- Numbers from here to there; 99 and the highest bit are refused there. ---- */

static inline uint32_t nl_h(const void *handle) { return handle ? (uint32_t)(uintptr_t)handle : 0xffffffffu; }
static inline uint32_t nl_eq(const void *handle) { return handle ? (uint32_t)(uintptr_t)handle : 0x3fffffffu; }
static inline uint32_t nl_ct(const void *handle) { return handle ? (uint32_t)(uintptr_t)handle : 0x5fffffffu; }

NL_CALL nl_back(uint32_t handle, int code, void **to)
{
    if (code == 0 && to)
        *to = (void *)(uintptr_t)handle;
    return code;
}

/* What calls return there, as numbers of here. */
NL_CALL nl_code(int code)
{
    static const unsigned char codes[] = { 0, 7, 32, 33, 34, 6, 36, 8, 38, 39, 40, 41, 42, 43, 44, 37, 37 };
    return code >= 0 && code < (int)sizeof codes ? codes[code] : PTL_FAIL;
}

/* The n-th letter of `there` names the bit that the n-th bit of here has there: a is bit 0. */
static inline uint32_t nl_bits(uint32_t bits, const char *there)
{
    uint32_t result = 0;
    for (int n = 0; n < 32; n++) {
        if (there[n] == 0)
            return bits >> n ? result | 1u << 31 : result;
        if (bits >> n & 1)
            result |= there[n] == '-' ? 1u << 31 : 1u << (there[n] - 'a');
    }
    return result;
}
#define NL_MD_BITS(options) nl_bits(options, "fbcdoehag")
#define NL_ME_BITS(options) nl_bits(options, "hjkgonmabcdtrlpqeif")

NL_CALL nl_op(int op)
{
    static const unsigned char ops[] = { 0, 1, 2, 3, 4, 5, 8, 99, 6, 7, 9, 99, 10, 99, 99, 99, 16, 14, 15, 13, 11, 12, 99, 99, 17 };
    return op >= 0 && op < (int)sizeof ops ? ops[op] : 99;
}

NL_CALL nl_type(int type)
{
    static const unsigned char types[] = { 0, 1, 2, 3, 4, 5, 7, 8, 99, 99, 6, 10, 9, 11, 99, 99, 99, 99, 99, 99, 12, 13 };
    return type >= 0 && type < (int)sizeof types ? types[type] : 99;
}

NL_CALL nl_ack(int ack)
{
    static const unsigned char acks[] = { 0, 2, 3, 1 };
    return ack >= 0 && ack < 4 ? acks[ack] : 99;
}

static inline uint32_t nl_time(ptl_time_t ms)
{
    return ms < 0 ? 0xffffffffu : ms > 0xfffffffeL ? 0xfffffffeu : (uint32_t)ms;
}

/* Who matches: handles of interfaces tell whether they are physical. */
static inline ptl_process_t nl_who(uint32_t ni, ptl_process_t id)
{
    if (ni >> 28 & 1) {
        id.phys.nid = id.phys.nid ? id.phys.nid : 0xffff;
        id.phys.pid = id.phys.pid ? id.phys.pid : 0xffff;
    } else if (id.rank == PTL_RANK_ANY) {
        id.rank = 0xffffffffu;
    }
    return id;
}

static inline struct nl_me nl_me(uint32_t ni, const ptl_me_t *me)
{
    struct nl_me there = { me->start, me->length, nl_ct(me->ct_handle), (uint32_t)me->uid, NL_ME_BITS(me->options), nl_who(ni, me->match_id),
                           me->match_bits, me->ignore_bits, me->min_free };
    return there;
}

/* A list entry has no more there. */
static inline struct nl_me nl_le(const ptl_le_t *le)
{
    struct nl_me there = { le->start, le->length, nl_ct(le->ct_handle), (uint32_t)le->uid, NL_ME_BITS(le->options), le->match_id, 0, 0, 0 };
    return there;
}

NL_CALL nl_event(int code, const struct nl_event *there, ptl_event_t *event)
{
    static const unsigned char fails[] = { 0, 5, 4, 3, 1, 11, 9, 2 };
    static const unsigned char ops[] = { 0, 1, 2, 3, 4, 5, 8, 9, 6, 10, 12, 20, 21, 19, 17, 18, 16, 24 };
    static const unsigned char types[] = { 0, 1, 2, 3, 4, 5, 10, 6, 7, 12, 11, 13, 20, 21 };
    if (code != 0 && code != 3)
        return nl_code(code);
    event->start = there->start;
    event->user_ptr = there->user_ptr;
    event->hdr_data = there->hdr_data;
    event->match_bits = there->match_bits;
    event->rlength = there->rlength;
    event->mlength = there->mlength;
    event->remote_offset = there->remote_offset;
    event->uid = (ptl_uid_t)there->uid;
    event->initiator = there->initiator;
    event->type = (ptl_event_kind_t)(there->type < 12 ? there->type : there->type == 12 ? 15 : there->type - 1);
    event->ptl_list = there->list;
    event->pt_index = there->pt_index;
    event->ni_fail_type = fails[there->fail & 7];
    event->atomic_operation = (ptl_op_t)ops[there->operation < 18 ? there->operation : 0];
    event->atomic_type = (ptl_datatype_t)types[there->datatype < 14 ? there->datatype : 0];
    return nl_code(code);
}

/* ---- The calls. ---- */

NL_CALL nlb_PtlInit(void) { return nl_code(nl_Init()); }
static inline void nlb_PtlFini(void) { nl_Fini(); }
NL_CALL nlb_PtlNIInit(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t *desired, ptl_ni_limits_t *actual,
    ptl_handle_ni_t *ni)
{
    uint32_t there = 0;
    int code = nl_NIInit((uint32_t)iface, nl_bits(options, "dacb"), pid ? pid : 0xffff, desired, actual, &there);
    return nl_code(nl_back(there, code, ni));
}
NL_CALL nlb_PtlNIFini(ptl_handle_ni_t ni) { return nl_code(nl_NIFini(nl_h(ni))); }
NL_CALL nlb_PtlNIHandle(ptl_handle_any_t any, ptl_handle_ni_t *ni)
{
    uint32_t there = 0;
    int code = nl_NIHandle(nl_h(any), &there);
    return nl_code(nl_back(there, code, ni));
}
NL_CALL nlb_PtlNIStatus(ptl_handle_ni_t ni, ptl_sr_index_t index, ptl_sr_value_t *value) { return nl_code(nl_NIStatus(nl_h(ni), (int)index, value)); }
NL_CALL nlb_PtlSetMap(ptl_handle_ni_t ni, ptl_size_t size, const union ptl_process *map) { return nl_code(nl_SetMap(nl_h(ni), size, map)); }
NL_CALL nlb_PtlGetMap(ptl_handle_ni_t ni, ptl_size_t size, union ptl_process *map, ptl_size_t *actual)
{
    return nl_code(nl_GetMap(nl_h(ni), size, map, actual));
}
NL_CALL nlb_PtlPTAlloc(ptl_handle_ni_t ni, unsigned int options, ptl_handle_eq_t eq, ptl_index_t wish, ptl_index_t *index)
{
    return nl_code(nl_PTAlloc(nl_h(ni), nl_bits(options, "acb"), nl_eq(eq), wish, index));
}
NL_CALL nlb_PtlPTFree(ptl_handle_ni_t ni, ptl_index_t index) { return nl_code(nl_PTFree(nl_h(ni), index)); }
NL_CALL nlb_PtlPTEnable(ptl_handle_ni_t ni, ptl_pt_index_t index) { return nl_code(nl_PTEnable(nl_h(ni), index)); }
NL_CALL nlb_PtlPTDisable(ptl_handle_ni_t ni, ptl_pt_index_t index) { return nl_code(nl_PTDisable(nl_h(ni), index)); }
NL_CALL nlb_PtlGetUid(ptl_handle_ni_t ni, ptl_uid_t *uid) { return nl_code(nl_GetUid(nl_h(ni), uid)); }
NL_CALL nlb_PtlGetId(ptl_handle_ni_t ni, ptl_process_t *id) { return nl_code(nl_GetId(nl_h(ni), id)); }
NL_CALL nlb_PtlGetPhysId(ptl_handle_ni_t ni, ptl_process_t *id) { return nl_code(nl_GetPhysId(nl_h(ni), id)); }
NL_CALL nlb_PtlGetHwid(ptl_handle_ni_t ni, uint64_t *hwid, uint64_t *capabilities)
{
    ptl_process_t id;
    int code = nl_GetPhysId(nl_h(ni), &id);
    if (code == 0 && hwid)
        *hwid = id.phys.nid;
    if (code == 0 && capabilities)
        *capabilities = 0;
    return nl_code(code);
}
NL_CALL nlb_PtlMDBind(ptl_handle_ni_t ni, const ptl_md_t *md, ptl_handle_md_t *handle)
{
    uint32_t there = 0;
    struct nl_md row = { md->start, md->length, NL_MD_BITS(md->options), nl_eq(md->eq_handle), nl_ct(md->ct_handle) };
    int code = nl_MDBind(nl_h(ni), &row, &there);
    return nl_code(nl_back(there, code, handle));
}
NL_CALL nlb_PtlMDRelease(ptl_handle_md_t md) { return nl_code(nl_MDRelease(nl_h(md))); }
NL_CALL nlb_PtlLEAppend(ptl_handle_ni_t ni, ptl_index_t pt, const ptl_le_t *le, ptl_list_t list, void *user, ptl_handle_le_t *handle)
{
    uint32_t there = 0;
    struct nl_me row = nl_le(le);
    int code = nl_LEAppend(nl_h(ni), pt, &row, list, user, &there);
    return nl_code(nl_back(there, code, handle));
}
NL_CALL nlb_PtlLEUnlink(ptl_handle_le_t le) { return nl_code(nl_LEUnlink(nl_h(le))); }
NL_CALL nlb_PtlLESearch(ptl_handle_ni_t ni, ptl_pt_index_t pt, const ptl_le_t *le, ptl_search_op_t how, void *user)
{
    struct nl_me row = nl_le(le);
    return nl_code(nl_LESearch(nl_h(ni), pt, &row, (int)how, user));
}
NL_CALL nlb_PtlMEAppend(ptl_handle_ni_t ni, ptl_index_t pt, const ptl_me_t *me, ptl_list_t list, void *user, ptl_handle_me_t *handle)
{
    uint32_t there = 0;
    struct nl_me row = nl_me(nl_h(ni), me);
    int code = nl_MEAppend(nl_h(ni), pt, &row, list, user, &there);
    return nl_code(nl_back(there, code, handle));
}
NL_CALL nlb_PtlMEUnlink(ptl_handle_me_t me) { return nl_code(nl_MEUnlink(nl_h(me))); }
NL_CALL nlb_PtlMESearch(ptl_handle_ni_t ni, ptl_pt_index_t pt, const ptl_me_t *me, ptl_search_op_t how, void *user)
{
    struct nl_me row = nl_me(nl_h(ni), me);
    return nl_code(nl_MESearch(nl_h(ni), pt, &row, (int)how, user));
}
NL_CALL nlb_PtlEQAlloc(ptl_handle_ni_t ni, ptl_size_t count, ptl_handle_eq_t *eq)
{
    uint32_t there = 0;
    int code = nl_EQAlloc(nl_h(ni), count, &there);
    return nl_code(nl_back(there, code, eq));
}
NL_CALL nlb_PtlEQFree(ptl_handle_eq_t eq) { return nl_code(nl_EQFree(nl_h(eq))); }
NL_CALL nlb_PtlEQGet(ptl_handle_eq_t eq, ptl_event_t *event)
{
    struct nl_event there;
    return nl_event(nl_EQGet(nl_h(eq), &there), &there, event);
}
NL_CALL nlb_PtlEQWait(ptl_handle_eq_t eq, ptl_event_t *event)
{
    struct nl_event there;
    return nl_event(nl_EQWait(nl_h(eq), &there), &there, event);
}
NL_CALL nlb_PtlEQPoll(const ptl_handle_eq_t *eqs, unsigned int size, ptl_time_t timeout, ptl_event_t *event, unsigned int *which)
{
    struct nl_event there;
    uint32_t *handles = (uint32_t *)__builtin_alloca((size + 1) * sizeof *handles);
    for (unsigned int n = 0; n < size; n++)
        handles[n] = nl_h(eqs[n]);
    return nl_event(nl_EQPoll(handles, size, nl_time(timeout), &there, which), &there, event);
}
NL_CALL nlb_PtlCTAlloc(ptl_handle_ni_t ni, ptl_handle_ct_t *ct)
{
    uint32_t there = 0;
    int code = nl_CTAlloc(nl_h(ni), &there);
    return nl_code(nl_back(there, code, ct));
}
NL_CALL nlb_PtlCTFree(ptl_handle_ct_t ct) { return nl_code(nl_CTFree(nl_h(ct))); }
NL_CALL nlb_PtlCTCancelTriggered(ptl_handle_ct_t ct) { return nl_code(nl_CTCancelTriggered(nl_h(ct))); }
NL_CALL nlb_PtlCTGet(ptl_handle_ct_t ct, ptl_ct_event_t *value) { return nl_code(nl_CTGet(nl_h(ct), value)); }
NL_CALL nlb_PtlCTWait(ptl_handle_ct_t ct, ptl_size_t test, ptl_ct_event_t *value) { return nl_code(nl_CTWait(nl_h(ct), test, value)); }
NL_CALL nlb_PtlCTPoll(const ptl_handle_ct_t *cts, const ptl_size_t *tests, unsigned int size, ptl_time_t timeout, ptl_ct_event_t *value,
    unsigned int *which)
{
    uint32_t *handles = (uint32_t *)__builtin_alloca((size + 1) * sizeof *handles);
    for (unsigned int n = 0; n < size; n++)
        handles[n] = nl_h(cts[n]);
    return nl_code(nl_CTPoll(handles, tests, size, nl_time(timeout), value, which));
}
NL_CALL nlb_PtlCTSet(ptl_handle_ct_t ct, ptl_ct_event_t value) { return nl_code(nl_CTSet(nl_h(ct), value)); }
NL_CALL nlb_PtlCTInc(ptl_handle_ct_t ct, ptl_ct_event_t by) { return nl_code(nl_CTInc(nl_h(ct), by)); }
NL_CALL nlb_PtlPut(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target, ptl_index_t pt,
    ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data)
{
    return nl_code(nl_Put(nl_h(md), offset, length, nl_ack(ack), target, pt, bits, remote, user, data));
}
NL_CALL nlb_PtlGet(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_t target, ptl_pt_index_t pt, ptl_match_bits_t bits,
    ptl_size_t remote, void *user)
{
    return nl_code(nl_Get(nl_h(md), offset, length, target, pt, bits, remote, user));
}
NL_CALL nlb_PtlAtomic(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target, ptl_pt_index_t pt,
    ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, ptl_op_t op, ptl_datatype_t type)
{
    return nl_code(nl_Atomic(nl_h(md), offset, length, nl_ack(ack), target, pt, bits, remote, user, data, nl_op(op), nl_type(type)));
}
NL_CALL nlb_PtlFetchAtomic(ptl_handle_md_t get, ptl_size_t get_offset, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length,
    ptl_process_t target, ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, ptl_op_t op,
    ptl_datatype_t type)
{
    return nl_code(nl_FetchAtomic(nl_h(get), get_offset, nl_h(md), offset, length, target, pt, bits, remote, user, data, nl_op(op),
        nl_type(type)));
}
NL_CALL nlb_PtlSwap(ptl_handle_md_t get, ptl_size_t get_offset, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_t target,
    ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, const void *operand, ptl_op_t op,
    ptl_datatype_t type)
{
    return nl_code(nl_Swap(nl_h(get), get_offset, nl_h(md), offset, length, target, pt, bits, remote, user, data, operand, nl_op(op),
        nl_type(type)));
}
NL_CALL nlb_PtlAtomicSync(void) { return nl_code(nl_AtomicSync()); }
NL_CALL nlb_PtlNIAtomicSync(ptl_handle_ni_t ni)
{
    (void)ni;
    return nl_code(nl_AtomicSync());
}
NL_CALL nlb_PtlTriggeredPut(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target, ptl_index_t pt,
    ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, ptl_handle_ct_t ct, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredPut(nl_h(md), offset, length, nl_ack(ack), target, pt, bits, remote, user, data, nl_h(ct), threshold));
}
NL_CALL nlb_PtlTriggeredGet(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_process_t target, ptl_pt_index_t pt,
    ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_handle_ct_t ct, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredGet(nl_h(md), offset, length, target, pt, bits, remote, user, nl_h(ct), threshold));
}
NL_CALL nlb_PtlTriggeredAtomic(ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length, ptl_ack_req_t ack, ptl_process_t target,
    ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, ptl_op_t op, ptl_datatype_t type,
    ptl_handle_ct_t ct, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredAtomic(nl_h(md), offset, length, nl_ack(ack), target, pt, bits, remote, user, data, nl_op(op), nl_type(type),
        nl_h(ct), threshold));
}
NL_CALL nlb_PtlTriggeredFetchAtomic(ptl_handle_md_t get, ptl_size_t get_offset, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length,
    ptl_process_t target, ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, ptl_op_t op,
    ptl_datatype_t type, ptl_handle_ct_t ct, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredFetchAtomic(nl_h(get), get_offset, nl_h(md), offset, length, target, pt, bits, remote, user, data, nl_op(op),
        nl_type(type), nl_h(ct), threshold));
}
NL_CALL nlb_PtlTriggeredSwap(ptl_handle_md_t get, ptl_size_t get_offset, ptl_handle_md_t md, ptl_size_t offset, ptl_size_t length,
    ptl_process_t target, ptl_pt_index_t pt, ptl_match_bits_t bits, ptl_size_t remote, void *user, ptl_hdr_data_t data, const void *operand,
    ptl_op_t op, ptl_datatype_t type, ptl_handle_ct_t ct, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredSwap(nl_h(get), get_offset, nl_h(md), offset, length, target, pt, bits, remote, user, data, operand,
        nl_op(op), nl_type(type), nl_h(ct), threshold));
}
NL_CALL nlb_PtlTriggeredCTSet(ptl_handle_ct_t ct, ptl_ct_event_t value, ptl_handle_ct_t on, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredCTSet(nl_h(ct), value, nl_h(on), threshold));
}
NL_CALL nlb_PtlTriggeredCTInc(ptl_handle_ct_t ct, ptl_ct_event_t by, ptl_handle_ct_t on, ptl_size_t threshold)
{
    return nl_code(nl_TriggeredCTInc(nl_h(ct), by, nl_h(on), threshold));
}
NL_CALL nlb_PtlStartBundle(ptl_handle_ni_t ni) { return nl_code(nl_StartBundle(nl_h(ni))); }
NL_CALL nlb_PtlEndBundle(ptl_handle_ni_t ni) { return nl_code(nl_EndBundle(nl_h(ni))); }
NL_CALL nlb_PtlHandleIsEqual(ptl_handle_any_t one, ptl_handle_any_t other) { return one == other; }

#define PtlInit nlb_PtlInit
#define PtlFini nlb_PtlFini
#define PtlNIInit nlb_PtlNIInit
#define PtlNIFini nlb_PtlNIFini
#define PtlNIHandle nlb_PtlNIHandle
#define PtlNIStatus nlb_PtlNIStatus
#define PtlSetMap nlb_PtlSetMap
#define PtlGetMap nlb_PtlGetMap
#define PtlPTAlloc nlb_PtlPTAlloc
#define PtlPTFree nlb_PtlPTFree
#define PtlPTEnable nlb_PtlPTEnable
#define PtlPTDisable nlb_PtlPTDisable
#define PtlGetUid nlb_PtlGetUid
#define PtlGetId nlb_PtlGetId
#define PtlGetPhysId nlb_PtlGetPhysId
#define PtlGetHwid nlb_PtlGetHwid
#define PtlMDBind nlb_PtlMDBind
#define PtlMDRelease nlb_PtlMDRelease
#define PtlLEAppend nlb_PtlLEAppend
#define PtlLEUnlink nlb_PtlLEUnlink
#define PtlLESearch nlb_PtlLESearch
#define PtlMEAppend nlb_PtlMEAppend
#define PtlMEUnlink nlb_PtlMEUnlink
#define PtlMESearch nlb_PtlMESearch
#define PtlEQAlloc nlb_PtlEQAlloc
#define PtlEQFree nlb_PtlEQFree
#define PtlEQGet nlb_PtlEQGet
#define PtlEQWait nlb_PtlEQWait
#define PtlEQPoll nlb_PtlEQPoll
#define PtlCTAlloc nlb_PtlCTAlloc
#define PtlCTFree nlb_PtlCTFree
#define PtlCTCancelTriggered nlb_PtlCTCancelTriggered
#define PtlCTGet nlb_PtlCTGet
#define PtlCTWait nlb_PtlCTWait
#define PtlCTPoll nlb_PtlCTPoll
#define PtlCTSet nlb_PtlCTSet
#define PtlCTInc nlb_PtlCTInc
#define PtlPut nlb_PtlPut
#define PtlGet nlb_PtlGet
#define PtlAtomic nlb_PtlAtomic
#define PtlFetchAtomic nlb_PtlFetchAtomic
#define PtlSwap nlb_PtlSwap
#define PtlAtomicSync nlb_PtlAtomicSync
#define PtlNIAtomicSync nlb_PtlNIAtomicSync
#define PtlTriggeredPut nlb_PtlTriggeredPut
#define PtlTriggeredGet nlb_PtlTriggeredGet
#define PtlTriggeredAtomic nlb_PtlTriggeredAtomic
#define PtlTriggeredFetchAtomic nlb_PtlTriggeredFetchAtomic
#define PtlTriggeredSwap nlb_PtlTriggeredSwap
#define PtlTriggeredCTSet nlb_PtlTriggeredCTSet
#define PtlTriggeredCTInc nlb_PtlTriggeredCTInc
#define PtlStartBundle nlb_PtlStartBundle
#define PtlEndBundle nlb_PtlEndBundle
#define PtlHandleIsEqual nlb_PtlHandleIsEqual
#define PtlPTEnableNB nlb_PtlPTEnable
#define PtlPTDisableNB nlb_PtlPTDisable
#define PtlLEAppendNB nlb_PtlLEAppend
#define PtlLESearchNB nlb_PtlLESearch
#define PtlMEAppendNB nlb_PtlMEAppend
#define PtlMESearchNB nlb_PtlMESearch
#define PtlMDBindNB nlb_PtlMDBind
#define PtlPutNB nlb_PtlPut
#define PtlGetNB nlb_PtlGet
#define PtlAtomicNB nlb_PtlAtomic
#define PtlFetchAtomicNB nlb_PtlFetchAtomic
#define PtlSwapNB nlb_PtlSwap
#define PtlTriggeredPutNB nlb_PtlTriggeredPut
#define PtlTriggeredGetNB nlb_PtlTriggeredGet
#define PtlTriggeredAtomicNB nlb_PtlTriggeredAtomic
#define PtlTriggeredFetchAtomicNB nlb_PtlTriggeredFetchAtomic
#define PtlTriggeredSwapNB nlb_PtlTriggeredSwap
#define PtlTriggeredCTSetNB nlb_PtlTriggeredCTSet
#define PtlTriggeredCTIncNB nlb_PtlTriggeredCTInc

#ifdef __cplusplus
}
#endif
#endif
