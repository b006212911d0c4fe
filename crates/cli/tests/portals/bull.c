/* Bull's dialect: handles are pointers, structures of zeros mean "none" and "any", calls that never block, numbers of its own. */
#include <pmi.h>
#include <portals4.h>
#include <string.h>

#include "expect.h"

static ptl_event_t next_event(ptl_handle_eq_t eq, enum ptl_event_kind kind)
{
    ptl_event_t event;
    OK(PtlEQWait(eq, &event));
    EXPECT(event.type == kind && event.ni_fail_type == PTL_NI_OK);
    return event;
}

int main(void)
{
    ptl_handle_ni_t ni, same;
    ptl_handle_eq_t eq, mine[1];
    ptl_handle_ct_t ct;
    ptl_handle_md_t md;
    ptl_handle_me_t list;
    ptl_pt_index_t pt;
    ptl_event_t event;
    ptl_ct_event_t count, one = { 1, 0 };
    ptl_process_t self;
    unsigned int which;
    int spawned;
    char key[16], text[32];
    static int64_t memory[8], result[8];

    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni) == PTL_NO_INIT);
    PMI_Init(&spawned);
    PMI_Get_rank(&rank);
    PMI_Get_size(&size);
    OK(PtlInit());
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, NULL, NULL, &ni));
    EXPECT(ni != NULL && PtlHandleIsEqual(ni, ni) && !PtlHandleIsEqual(ni, PTL_INVALID_HANDLE));
    OK(PtlEQAlloc(ni, 64, &eq));
    OK(PtlCTAlloc(ni, &ct));
    OK(PtlNIHandle(ct, &same));
    EXPECT(same == ni);
    EXPECT(PtlPTAlloc(ni, PTL_PT_FLOWCTRL, PTL_EQ_NONE, PTL_PT_ANY, &pt) == PTL_PT_EQ_NEEDED);
    EXPECT(PtlPTAlloc(ni, 8, eq, PTL_PT_ANY, &pt) == PTL_ARG_INVALID);
    OK(PtlPTAlloc(ni, PTL_PT_ONLY_TRUNCATE, eq, 3, &pt));
    EXPECT(pt == 3 && PtlPTAlloc(ni, 0, eq, 3, &pt) == PTL_PT_IN_USE);
    EXPECT(PtlEQGet(eq, &event) == PTL_EQ_EMPTY);

    /* Zeros match everybody on this interface. */
    struct ptl_me me = { .start = memory, .length = sizeof memory, .uid = PTL_UID_ANY, .options = PTL_ME_OP_PUT | PTL_ME_OP_GET, .match_bits = 7 };
    OK(PtlMEAppendNB(ni, 3, &me, PTL_PRIORITY_LIST, &memory, &list));
    event = next_event(eq, PTL_EVENT_LINK);
    EXPECT(event.user_ptr == &memory && event.ptl_list == PTL_PRIORITY_LIST);
    me.options = 1u << 30;
    EXPECT(PtlMEAppend(ni, 3, &me, PTL_PRIORITY_LIST, NULL, &list) == PTL_ARG_INVALID);

    OK(PtlGetPhysId(ni, &self));
    snprintf(key, sizeof key, "%d", rank);
    snprintf(text, sizeof text, "%u %u", self.phys.nid, self.phys.pid);
    PMI_KVS_Put("", key, text);
    PMI_Barrier();
    snprintf(key, sizeof key, "%d", (rank + 1) % size);
    PMI_KVS_Get("", key, text, sizeof text);
    ptl_process_t next;
    EXPECT(sscanf(text, "%u %u", &next.phys.nid, &next.phys.pid) == 2);

    struct ptl_md descriptor = { .start = result, .length = sizeof result, .options = PTL_MD_EVENT_CT_ACK | PTL_MD_EVENT_CT_REPLY, .ct_handle = ct };
    OK(PtlMDBindNB(ni, &descriptor, &md));
    result[0] = 40 + rank;
    OK(PtlPutNB(md, 0, 8, PTL_CT_ACK_REQ, next, 3, 7, 8, NULL, 99));
    event = next_event(eq, PTL_EVENT_PUT);
    EXPECT(event.hdr_data == 99 && event.mlength == 8 && event.remote_offset == 8 && event.pt_index == 3);
    OK(PtlCTWait(ct, 1, &count));
    EXPECT(count.success == 1 && count.failure == 0);
    EXPECT(memory[1] == 40 + (rank + size - 1) % size);

    /* Its numbers of operations and datatypes. */
    result[0] = 5;
    OK(PtlFetchAtomicNB(md, 16, md, 0, 8, next, 3, 7, 8, NULL, 0, PTL_BXOR, PTL_INT64_T));
    event = next_event(eq, PTL_EVENT_FETCH_ATOMIC);
    EXPECT(event.atomic_operation == PTL_BXOR && event.atomic_type == PTL_INT64_T);
    OK(PtlCTWait(ct, 2, &count));
    EXPECT(result[2] == 40 + rank && memory[1] == ((40 + (rank + size - 1) % size) ^ 5));
    EXPECT(PtlAtomic(md, 0, 8, PTL_NO_ACK_REQ, next, 3, 7, 8, NULL, 0, (ptl_op_t)7, PTL_INT64_T) == PTL_ARG_INVALID);
    int64_t operand = memory[1];
    result[0] = -1;
    OK(PtlSwap(md, 24, md, 0, 8, self, 3, 7, 8, NULL, 0, &operand, PTL_CSWAP, PTL_INT64_T));
    OK(PtlCTWait(ct, 3, &count));
    EXPECT(memory[1] == -1 && result[3] == operand);
    next_event(eq, PTL_EVENT_FETCH_ATOMIC);

    /* Nothing matches: what happened is told in its own words. */
    descriptor.options = PTL_MD_EVENT_SEND_DISABLE;
    descriptor.eq_handle = eq;
    descriptor.ct_handle = PTL_CT_NONE;
    OK(PtlMDBind(ni, &descriptor, &md));
    OK(PtlPut(md, 0, 8, PTL_ACK_REQ, self, 3, 8, 0, NULL, 0));
    OK(PtlEQWait(eq, &event));
    EXPECT(event.type == PTL_EVENT_ACK && event.ni_fail_type == PTL_NI_DROPPED);
    OK(PtlPut(md, 0, 8, PTL_ACK_REQ, self, 3, 7, 0, &self, 0));
    mine[0] = eq;
    OK(PtlEQPoll(mine, 1, PTL_TIME_FOREVER, &event, &which));
    EXPECT(event.type == PTL_EVENT_PUT && which == 0);
    event = next_event(eq, PTL_EVENT_ACK);
    EXPECT(event.user_ptr == &self);
    ptl_size_t test = 9;
    EXPECT(PtlCTPoll(&ct, &test, 1, 3, &count, &which) == PTL_CT_NONE_REACHED);
    OK(PtlTriggeredCTIncNB(ct, one, ct, 4));
    OK(PtlCTInc(ct, one));
    OK(PtlCTWait(ct, 5, &count));
    PMI_Barrier();
    OK(PtlNIFini(ni));
    PtlFini();
    printf("Bull's dialect is understood\n");
    return 0;
}
