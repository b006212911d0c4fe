/* Portals 4.3 for programs that run in Netloom. Numbers follow Sandia's implementation, so that its programs compile unchanged; names of
   4.2 that 4.3 dropped are kept. Functions are weak: their definitions come with the simulation. */
#ifndef PORTALS4_H
#define PORTALS4_H

#include <stdint.h>

#include <portals4_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PTL_FUNCTION(name) extern __attribute__((weak)) int name

/* What calls return. */
enum ptl_retvals {
    PTL_OK = 0,
    PTL_ARG_INVALID = 1,
    PTL_CT_NONE_REACHED = 2,
    PTL_EQ_DROPPED = 3,
    PTL_EQ_EMPTY = 4,
    PTL_FAIL = 5,
    PTL_IGNORED = 6,
    PTL_IN_USE = 7,
    PTL_LIST_TOO_LONG = 8,
    PTL_NO_INIT = 9,
    PTL_NO_SPACE = 10,
    PTL_PID_IN_USE = 11,
    PTL_PT_FULL = 12,
    PTL_PT_EQ_NEEDED = 13,
    PTL_PT_IN_USE = 14,
    PTL_ABORTED = 15,
    PTL_INTERRUPTED = 16,
};
#define PTL_STATUS_LAST (PTL_PT_IN_USE + 1)

typedef uint32_t ptl_uid_t;
typedef unsigned int ptl_time_t; /* milliseconds */
typedef unsigned int ptl_interface_t;
typedef uint32_t ptl_handle_any_t;
typedef unsigned char ptl_ni_fail_t;
typedef unsigned char ptl_list_t;
typedef unsigned char ptl_search_op_t;
typedef unsigned char ptl_ack_req_t;
typedef unsigned char ptl_op_t;
typedef unsigned char ptl_datatype_t;
typedef unsigned char ptl_event_kind_t;
typedef ptl_handle_any_t ptl_handle_ni_t;
typedef ptl_handle_any_t ptl_handle_eq_t;
typedef ptl_handle_any_t ptl_handle_ct_t;
typedef ptl_handle_any_t ptl_handle_md_t;
typedef ptl_handle_any_t ptl_handle_le_t;
typedef ptl_handle_any_t ptl_handle_me_t;

#define PTL_SR_LAST (PTL_SR_OPERATION_VIOLATIONS + 1)
#define PTL_SR_PERMISSIONS_VIOLATIONS PTL_SR_PERMISSION_VIOLATIONS
#define PTL_SR_OPERATIONS_VIOLATIONS PTL_SR_OPERATION_VIOLATIONS

typedef union {
    ptl_rank_t rank;
    struct {
        ptl_nid_t nid;
        ptl_pid_t pid;
    } phys;
} ptl_process_t;

typedef struct {
    void *start;
    ptl_size_t length;
    unsigned int options;
    ptl_handle_eq_t eq_handle;
    ptl_handle_ct_t ct_handle;
} ptl_md_t;

typedef struct {
    void *start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;
} ptl_le_t;

typedef struct {
    void *start;
    ptl_size_t length;
    ptl_handle_ct_t ct_handle;
    ptl_uid_t uid;
    unsigned int options;
    ptl_process_t match_id;
    ptl_match_bits_t match_bits;
    ptl_match_bits_t ignore_bits;
    ptl_size_t min_free;
} ptl_me_t;

typedef enum { PTL_CT_OPERATION, PTL_CT_BYTE } ptl_ct_type_t;

typedef struct {
    void *start;
    void *user_ptr;
    ptl_hdr_data_t hdr_data;
    ptl_match_bits_t match_bits;
    ptl_size_t rlength;
    ptl_size_t mlength;
    ptl_size_t remote_offset;
    ptl_process_t initiator;
    ptl_uid_t uid;
    ptl_pt_index_t pt_index;
    ptl_event_kind_t type;
    ptl_list_t ptl_list;
    ptl_ni_fail_t ni_fail_type;
    ptl_op_t atomic_operation;
    ptl_datatype_t atomic_type;
} ptl_event_t;

/* Nothing, anything. */
#define PTL_EQ_NONE ((ptl_handle_eq_t)0x3fffffff)
#define PTL_CT_NONE ((ptl_handle_ct_t)0x5fffffff)
#define PTL_INVALID_HANDLE ((ptl_handle_any_t)0xffffffff)
#define PTL_IFACE_DEFAULT ((ptl_interface_t)0xffffffff)
#define PTL_PID_ANY ((ptl_pid_t)0xffff)
#define PTL_PID_MAX ((ptl_pid_t)1024)
#define PTL_NID_ANY ((ptl_nid_t)0xffff)
#define PTL_UID_ANY ((ptl_uid_t)0xffffffff)
#define PTL_PT_ANY ((ptl_pt_index_t)0xffffffff)
#define PTL_RANK_ANY ((ptl_rank_t)0xffffffff)
#define PTL_TIME_FOREVER ((ptl_time_t)0xffffffff)
#define PTL_SIZE_MAX ((ptl_size_t)0xffffffffffffffffULL)

/* Interfaces. */
#define PTL_NI_MATCHING (1 << 0)
#define PTL_NI_NO_MATCHING (1 << 1)
#define PTL_NI_LOGICAL (1 << 2)
#define PTL_NI_PHYSICAL (1 << 3)
#define PTL_NI_INIT_OPTIONS_MASK 15
#define PTL_NI_UNDELIVERABLE 1
#define PTL_NI_DROPPED 2
#define PTL_NI_PT_DISABLED 3
#define PTL_NI_PERM_VIOLATION 4
#define PTL_NI_OP_VIOLATION 5
#define PTL_NI_NO_MATCH 6
#define PTL_NI_SEGV 7

/* Portal table entries. */
#define PTL_PT_ONLY_USE_ONCE (1 << 0)
#define PTL_PT_FLOWCTRL (1 << 1)
#define PTL_PT_ONLY_TRUNCATE (1 << 2)
#define PTL_PT_MATCH_UNORDERED (1 << 3)
#define PTL_PT_ALLOC_DISABLED (1 << 4)
#define PTL_PT_ALLOC_OPTIONS_MASK 31

/* Memory descriptors. */
#define PTL_IOVEC 1
#define PTL_MD_EVENT_CT_SEND (1 << 1)
#define PTL_MD_EVENT_CT_REPLY (1 << 2)
#define PTL_MD_EVENT_CT_ACK (1 << 3)
#define PTL_MD_UNORDERED (1 << 4)
#define PTL_MD_EVENT_SUCCESS_DISABLE (1 << 5)
#define PTL_MD_VOLATILE (1 << 6)
#define PTL_MD_EVENT_SEND_DISABLE (1 << 7)
#define PTL_MD_UNRELIABLE (1 << 8)
#define PTL_MD_EVENT_CT_BYTES (1 << 14)
#define PTL_MD_OPTIONS_MASK (((1 << 9) - 1) | PTL_MD_EVENT_CT_BYTES)

/* List entries. */
#define PTL_ME_OP_PUT (1 << 1)
#define PTL_ME_OP_GET (1 << 2)
#define PTL_ME_USE_ONCE (1 << 3)
#define PTL_ME_UNEXPECTED_HDR_DISABLE (1 << 4)
#define PTL_ME_IS_ACCESSIBLE (1 << 5)
#define PTL_ME_EVENT_LINK_DISABLE (1 << 6)
#define PTL_ME_EVENT_COMM_DISABLE (1 << 7)
#define PTL_ME_EVENT_FLOWCTRL_DISABLE (1 << 8)
#define PTL_ME_EVENT_SUCCESS_DISABLE (1 << 9)
#define PTL_ME_EVENT_OVER_DISABLE (1 << 10)
#define PTL_ME_EVENT_UNLINK_DISABLE (1 << 11)
#define PTL_ME_EVENT_CT_COMM (1 << 12)
#define PTL_ME_EVENT_CT_OVERFLOW (1 << 13)
#define PTL_ME_EVENT_CT_BYTES (1 << 14)
#define PTL_ME_MANAGE_LOCAL (1 << 15)
#define PTL_ME_NO_TRUNCATE (1 << 16)
#define PTL_ME_MAY_ALIGN (1 << 17)
#define PTL_ME_LOCAL_INC_UH_RLENGTH (1 << 18)
#define PTL_ME_ACK_DISABLE (1 << 19)
#define PTL_LE_APPEND_OPTIONS_MASK ((1 << 15) - 1)
#define PTL_ME_APPEND_OPTIONS_MASK ((1 << 19) - 1)

/* Data movement. */
#define PTL_ACK_REQ 1
#define PTL_CT_ACK_REQ 2
#define PTL_OC_ACK_REQ 3
#define PTL_MIN 0
#define PTL_MAX 1
#define PTL_SUM 2
#define PTL_PROD 3
#define PTL_LOR 4
#define PTL_LAND 5
#define PTL_BOR 6
#define PTL_BAND 7
#define PTL_LXOR 8
#define PTL_BXOR 9
#define PTL_SWAP 10
#define PTL_CSWAP 11
#define PTL_CSWAP_NE 12
#define PTL_CSWAP_LE 13
#define PTL_CSWAP_LT 14
#define PTL_CSWAP_GE 15
#define PTL_CSWAP_GT 16
#define PTL_MSWAP 17
#define PTL_OP_LAST 18
#define PTL_INT8_T 0
#define PTL_UINT8_T 1
#define PTL_INT16_T 2
#define PTL_UINT16_T 3
#define PTL_INT32_T 4
#define PTL_UINT32_T 5
#define PTL_FLOAT 6
#define PTL_INT64_T 7
#define PTL_UINT64_T 8
#define PTL_DOUBLE 9
#define PTL_FLOAT_COMPLEX 10
#define PTL_DOUBLE_COMPLEX 11
#define PTL_LONG_DOUBLE 12
#define PTL_LONG_DOUBLE_COMPLEX 13
#define PTL_DATATYPE_LAST 14

/* Events. */
#define PTL_EVENT_GET 0
#define PTL_EVENT_GET_OVERFLOW 1
#define PTL_EVENT_PUT 2
#define PTL_EVENT_PUT_OVERFLOW 3
#define PTL_EVENT_ATOMIC 4
#define PTL_EVENT_ATOMIC_OVERFLOW 5
#define PTL_EVENT_FETCH_ATOMIC 6
#define PTL_EVENT_FETCH_ATOMIC_OVERFLOW 7
#define PTL_EVENT_REPLY 8
#define PTL_EVENT_SEND 9
#define PTL_EVENT_ACK 10
#define PTL_EVENT_PT_DISABLED 11
#define PTL_EVENT_LINK 12
#define PTL_EVENT_AUTO_UNLINK 13
#define PTL_EVENT_AUTO_FREE 14
#define PTL_EVENT_SEARCH 15

extern __attribute__((weak)) void PtlAbort(void);
extern __attribute__((weak)) void PtlFini(void);
PTL_FUNCTION(PtlInit)(void);
PTL_FUNCTION(PtlNIInit)(ptl_interface_t iface, unsigned int options, ptl_pid_t pid, const ptl_ni_limits_t *desired,
    ptl_ni_limits_t *actual, ptl_handle_ni_t *ni_handle);
PTL_FUNCTION(PtlNIFini)(ptl_handle_ni_t ni_handle);
PTL_FUNCTION(PtlNIStatus)(ptl_handle_ni_t ni_handle, ptl_sr_index_t status_register, ptl_sr_value_t *status);
PTL_FUNCTION(PtlNIHandle)(ptl_handle_any_t handle, ptl_handle_ni_t *ni_handle);
PTL_FUNCTION(PtlSetMap)(ptl_handle_ni_t ni_handle, ptl_size_t map_size, const ptl_process_t *mapping);
PTL_FUNCTION(PtlGetMap)(ptl_handle_ni_t ni_handle, ptl_size_t map_size, ptl_process_t *mapping, ptl_size_t
    *actual_map_size);
PTL_FUNCTION(PtlPTAlloc)(ptl_handle_ni_t ni_handle, unsigned int options, ptl_handle_eq_t eq_handle, ptl_pt_index_t
    pt_index_req, ptl_pt_index_t *pt_index);
PTL_FUNCTION(PtlPTFree)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
PTL_FUNCTION(PtlPTDisable)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
PTL_FUNCTION(PtlPTEnable)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index);
PTL_FUNCTION(PtlGetUid)(ptl_handle_ni_t ni_handle, ptl_uid_t *uid);
PTL_FUNCTION(PtlGetId)(ptl_handle_ni_t ni_handle, ptl_process_t *id);
PTL_FUNCTION(PtlGetPhysId)(ptl_handle_ni_t ni_handle, ptl_process_t *id);
PTL_FUNCTION(PtlMDBind)(ptl_handle_ni_t ni_handle, const ptl_md_t *md, ptl_handle_md_t *md_handle);
PTL_FUNCTION(PtlMDRelease)(ptl_handle_md_t md_handle);
PTL_FUNCTION(PtlLEAppend)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le, ptl_list_t ptl_list,
    void *user_ptr, ptl_handle_le_t *le_handle);
PTL_FUNCTION(PtlLEUnlink)(ptl_handle_le_t le_handle);
PTL_FUNCTION(PtlLESearch)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_le_t *le, ptl_search_op_t
    ptl_search_op, void *user_ptr);
PTL_FUNCTION(PtlMEAppend)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_list_t ptl_list,
    void *user_ptr, ptl_handle_me_t *me_handle);
PTL_FUNCTION(PtlMEUnlink)(ptl_handle_me_t me_handle);
PTL_FUNCTION(PtlMESearch)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, const ptl_me_t *me, ptl_search_op_t
    ptl_search_op, void *user_ptr);
PTL_FUNCTION(PtlCTAlloc)(ptl_handle_ni_t ni_handle, ptl_handle_ct_t *ct_handle);
PTL_FUNCTION(PtlCTFree)(ptl_handle_ct_t ct_handle);
PTL_FUNCTION(PtlCTCancelTriggered)(ptl_handle_ct_t ct_handle);
PTL_FUNCTION(PtlCTGet)(ptl_handle_ct_t ct_handle, ptl_ct_event_t *event);
PTL_FUNCTION(PtlCTWait)(ptl_handle_ct_t ct_handle, ptl_size_t test, ptl_ct_event_t *event);
PTL_FUNCTION(PtlCTPoll)(const ptl_handle_ct_t *ct_handles, const ptl_size_t *tests, unsigned int size, ptl_time_t
    timeout, ptl_ct_event_t *event, unsigned int *which);
PTL_FUNCTION(PtlCTSet)(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct);
PTL_FUNCTION(PtlCTInc)(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment);
PTL_FUNCTION(PtlEQAlloc)(ptl_handle_ni_t ni_handle, ptl_size_t count, ptl_handle_eq_t *eq_handle);
PTL_FUNCTION(PtlEQFree)(ptl_handle_eq_t eq_handle);
PTL_FUNCTION(PtlEQGet)(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PTL_FUNCTION(PtlEQWait)(ptl_handle_eq_t eq_handle, ptl_event_t *event);
PTL_FUNCTION(PtlEQPoll)(const ptl_handle_eq_t *eq_handles, unsigned int size, ptl_time_t timeout, ptl_event_t *event,
    unsigned int *which);
PTL_FUNCTION(PtlPut)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
    ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void
    *user_ptr, ptl_hdr_data_t hdr_data);
PTL_FUNCTION(PtlGet)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t target_id,
    ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr);
PTL_FUNCTION(PtlAtomic)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t ack_req,
    ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void
    *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype);
PTL_FUNCTION(PtlFetchAtomic)(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t
    put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t
    operation, ptl_datatype_t datatype);
PTL_FUNCTION(PtlSwap)(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t put_md_handle,
    ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t
    match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void *operand, ptl_op_t
    operation, ptl_datatype_t datatype);
PTL_FUNCTION(PtlAtomicSync)(void);
PTL_FUNCTION(PtlTriggeredPut)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t
    ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
    void *user_ptr, ptl_hdr_data_t hdr_data, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredGet)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_process_t
    target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr,
    ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredAtomic)(ptl_handle_md_t md_handle, ptl_size_t local_offset, ptl_size_t length, ptl_ack_req_t
    ack_req, ptl_process_t target_id, ptl_pt_index_t pt_index, ptl_match_bits_t match_bits, ptl_size_t remote_offset,
    void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t
    trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredFetchAtomic)(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t
    put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, ptl_op_t
    operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredSwap)(ptl_handle_md_t get_md_handle, ptl_size_t local_get_offset, ptl_handle_md_t
    put_md_handle, ptl_size_t local_put_offset, ptl_size_t length, ptl_process_t target_id, ptl_pt_index_t pt_index,
    ptl_match_bits_t match_bits, ptl_size_t remote_offset, void *user_ptr, ptl_hdr_data_t hdr_data, const void
    *operand, ptl_op_t operation, ptl_datatype_t datatype, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredCTInc)(ptl_handle_ct_t ct_handle, ptl_ct_event_t increment, ptl_handle_ct_t trig_ct_handle,
    ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredCTSet)(ptl_handle_ct_t ct_handle, ptl_ct_event_t new_ct, ptl_handle_ct_t trig_ct_handle,
    ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredMEAppend)(ptl_handle_ni_t ni_handle, ptl_pt_index_t pt_index, ptl_me_t *me, ptl_list_t
    ptl_list, void *user_ptr, ptl_handle_me_t *me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlTriggeredMEUnlink)(ptl_handle_me_t me_handle, ptl_handle_ct_t trig_ct_handle, ptl_size_t threshold);
PTL_FUNCTION(PtlStartBundle)(ptl_handle_ni_t ni_handle);
PTL_FUNCTION(PtlEndBundle)(ptl_handle_ni_t ni_handle);
PTL_FUNCTION(PtlHandleIsEqual)(ptl_handle_any_t handle1, ptl_handle_any_t handle2);

#ifdef __cplusplus
}
#endif
#endif
