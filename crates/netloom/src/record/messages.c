/* Messages between two ranks, and waiting for them. */
#include "record.h"
#include <stdlib.h>

/* One end of a message; the statement has begun. */
static void envelope(const char *to, int count, MPI_Datatype type, int peer, int tag, int number) {
    nl_text(" ");
    nl_bytes(nl_size(count, type));
    nl_text(to);
    if (peer == MPI_ANY_SOURCE) nl_text("any");
    else if (peer == MPI_PROC_NULL) nl_text("null");
    else nl_number((unsigned long long)(number == NL_SELF ? nl_own_rank() : peer));
    if (tag == MPI_ANY_TAG) nl_text(" tag any");
    else if (tag > 0) {
        nl_text(" tag ");
        nl_number((unsigned long long)tag);
    }
    nl_comm_of(number);
}

#define END(word, to)                                                                                             \
    nl_begin(word);                                                                                               \
    envelope(to, count, type, peer, tag, number)

#define PARAMS const void *b, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define ARGS b, count, type, peer, tag, comm

#define BLOCKING(Name, word, to, More, more, ...)                                                                 \
    NL_MPI(Name)(__VA_ARGS__ More) {                                                                              \
        int on = nl_enter(), rc = NL_REAL(Name)(ARGS more), number;                                               \
        if (on) {                                                                                                 \
            if ((number = nl_comm(comm)) == NL_UNKNOWN) nl_missing("MPI_" #Name);                                 \
            else { END(word, to); nl_end(); }                                                                     \
            nl_leave();                                                                                           \
        }                                                                                                         \
        return rc;                                                                                                \
    }
#define COMMA ,

BLOCKING(Send, "send", " to ", , , PARAMS)
BLOCKING(Ssend, "ssend", " to ", , , PARAMS)
BLOCKING(Bsend, "bsend", " to ", , , PARAMS)
BLOCKING(Rsend, "send", " to ", , , PARAMS)
BLOCKING(Recv, "recv", " from ", COMMA MPI_Status *status, COMMA status, void *b, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)

#define REQUEST(Name, word, to, persistent, ...)                                                                  \
    NL_MPI(Name)(__VA_ARGS__, MPI_Request *request) {                                                             \
        int on = nl_enter(), rc = NL_REAL(Name)(ARGS, request), number, made;                                     \
        if (on) {                                                                                                 \
            if ((number = nl_comm(comm)) == NL_UNKNOWN) nl_missing("MPI_" #Name);                                 \
            else if ((made = nl_open(*request, persistent)) >= 0) { END(word, to); nl_as(made); nl_end(); }       \
            nl_leave();                                                                                           \
        }                                                                                                         \
        return rc;                                                                                                \
    }

REQUEST(Isend, "isend", " to ", 0, PARAMS)
REQUEST(Issend, "issend", " to ", 0, PARAMS)
REQUEST(Ibsend, "ibsend", " to ", 0, PARAMS)
REQUEST(Irsend, "isend", " to ", 0, PARAMS)
REQUEST(Irecv, "irecv", " from ", 0, void *b, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)
REQUEST(Send_init, "send_init", " to ", 1, PARAMS)
REQUEST(Ssend_init, "ssend_init", " to ", 1, PARAMS)
REQUEST(Bsend_init, "bsend_init", " to ", 1, PARAMS)
REQUEST(Rsend_init, "send_init", " to ", 1, PARAMS)
REQUEST(Recv_init, "recv_init", " from ", 1, void *b, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm)

static void exchange(const char *call, int sent, MPI_Datatype stype, int to, int stag, int received, MPI_Datatype rtype, int from, int rtag,
                     MPI_Comm comm) {
    int number = nl_comm(comm);
    if (number == NL_UNKNOWN) { nl_missing(call); return; }
    nl_begin("sendrecv");
    envelope(" to ", sent, stype, to, stag, number);
    nl_text(" recv");
    envelope(" from ", received, rtype, from, rtag, number);
    nl_end();
}

NL_MPI(Sendrecv)(const void *s, int sc, MPI_Datatype st, int to, int stag, void *r, int rcount, MPI_Datatype rt, int from, int rtag,
                 MPI_Comm comm, MPI_Status *status) {
    int on = nl_enter(), rc = NL_REAL(Sendrecv)(s, sc, st, to, stag, r, rcount, rt, from, rtag, comm, status);
    if (on) { exchange("MPI_Sendrecv", sc, st, to, stag, rcount, rt, from, rtag, comm); nl_leave(); }
    return rc;
}

NL_MPI(Sendrecv_replace)(void *b, int n, MPI_Datatype type, int to, int stag, int from, int rtag, MPI_Comm comm, MPI_Status *status) {
    int on = nl_enter(), rc = NL_REAL(Sendrecv_replace)(b, n, type, to, stag, from, rtag, comm, status);
    if (on) { exchange("MPI_Sendrecv_replace", n, type, to, stag, n, type, from, rtag, comm); nl_leave(); }
    return rc;
}

/* A probe that found something; `seen` is what it found. */
static void probed(const char *call, MPI_Comm comm, const MPI_Status *seen) {
    int number = nl_comm(comm), count = 0;
    if (number == NL_UNKNOWN) { nl_missing(call); return; }
    PMPI_Get_count((MPI_Status *)seen, MPI_BYTE, &count);
    nl_begin("probe");
    envelope(" from ", count > 0 ? count : 0, MPI_BYTE, seen->MPI_SOURCE, seen->MPI_TAG, number);
    nl_end();
}

/* Messages that were matched by a probe and not received yet. */
static struct matched { MPI_Message message; int number, source, tag; } *matches;
static int matched, matches_room;

static void keep(MPI_Message message, MPI_Comm comm, const MPI_Status *seen) {
    if (matched == matches_room) {
        matches_room = matches_room ? 2 * matches_room : 16;
        if (!(matches = realloc(matches, (size_t)matches_room * sizeof *matches))) abort();
    }
    matches[matched].message = message;
    matches[matched].number = nl_comm(comm);
    matches[matched].source = seen->MPI_SOURCE;
    matches[matched++].tag = seen->MPI_TAG;
}

static int take(MPI_Message message, struct matched *found) {
    int i;
    for (i = 0; i < matched; i++)
        if (matches[i].message == message) {
            *found = matches[i];
            matches[i] = matches[--matched];
            return found->number != NL_UNKNOWN;
        }
    return 0;
}

NL_MPI(Probe)(int source, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Status seen;
    int on = nl_enter(), rc = NL_REAL(Probe)(source, tag, comm, &seen);
    if (on) { probed("MPI_Probe", comm, &seen); nl_leave(); }
    if (status != MPI_STATUS_IGNORE) *status = seen;
    return rc;
}

NL_MPI(Iprobe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
    MPI_Status seen;
    int on = nl_enter(), rc = NL_REAL(Iprobe)(source, tag, comm, flag, &seen);
    if (on) { if (*flag) probed("MPI_Iprobe", comm, &seen); nl_leave(); }
    if (*flag && status != MPI_STATUS_IGNORE) *status = seen;
    return rc;
}

NL_MPI(Mprobe)(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
    MPI_Status seen;
    int on = nl_enter(), rc = NL_REAL(Mprobe)(source, tag, comm, message, &seen);
    if (on) { probed("MPI_Mprobe", comm, &seen); keep(*message, comm, &seen); nl_leave(); }
    if (status != MPI_STATUS_IGNORE) *status = seen;
    return rc;
}

NL_MPI(Improbe)(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
    MPI_Status seen;
    int on = nl_enter(), rc = NL_REAL(Improbe)(source, tag, comm, flag, message, &seen);
    if (on) {
        if (*flag) { probed("MPI_Improbe", comm, &seen); keep(*message, comm, &seen); }
        nl_leave();
    }
    if (*flag && status != MPI_STATUS_IGNORE) *status = seen;
    return rc;
}

NL_MPI(Mrecv)(void *b, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status) {
    MPI_Message before = *message;
    int on = nl_enter(), rc = NL_REAL(Mrecv)(b, count, type, message, status);
    struct matched found;
    if (on) {
        if (!take(before, &found)) nl_missing("MPI_Mrecv");
        else { nl_begin("recv"); envelope(" from ", count, type, found.source, found.tag, found.number); nl_end(); }
        nl_leave();
    }
    return rc;
}

NL_MPI(Imrecv)(void *b, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request) {
    MPI_Message before = *message;
    int on = nl_enter(), rc = NL_REAL(Imrecv)(b, count, type, message, request), made;
    struct matched found;
    if (on) {
        if (!take(before, &found)) nl_missing("MPI_Imrecv");
        else if ((made = nl_open(*request, 0)) >= 0) {
            nl_begin("irecv");
            envelope(" from ", count, type, found.source, found.tag, found.number);
            nl_as(made);
            nl_end();
        }
        nl_leave();
    }
    return rc;
}

NL_MPI(Request_free)(MPI_Request *request) {
    int on = nl_enter(), number, rc;
    if (on && (number = nl_release(*request)) >= 0) {
        nl_begin("free r");
        nl_number((unsigned long long)number);
        nl_end();
    }
    rc = NL_REAL(Request_free)(request);
    if (on) nl_leave();
    return rc;
}

/* A receive that is cancelled may never end: nobody waits for it in the trace. */
NL_MPI(Cancel)(MPI_Request *request) {
    int on = nl_enter(), number, rc = NL_REAL(Cancel)(request);
    if (on) {
        nl_missing("MPI_Cancel");
        if ((number = nl_release(*request)) >= 0) {
            nl_begin("free r");
            nl_number((unsigned long long)number);
            nl_end();
        }
        nl_leave();
    }
    return rc;
}

/* Keys of the requests of a call, since the call changes its handles. */
static uint64_t *keys;
static int *found, keys_room;

static void look(int n, const MPI_Request requests[]) {
    int i;
    if (n > keys_room) {
        keys_room = n + 64;
        keys = realloc(keys, (size_t)keys_room * sizeof *keys);
        found = realloc(found, (size_t)keys_room * sizeof *found);
        if (!keys || !found) abort();
    }
    for (i = 0; i < n; i++) keys[i] = nl_key(requests[i]);
}

static void names(const char *word, int n) {
    int i, any = 0;
    for (i = 0; i < n; i++) {
        if (found[i] < 0) continue;
        if (!any) nl_begin(word);
        any = 1;
        nl_text(" r");
        nl_number((unsigned long long)found[i]);
    }
    if (any) nl_end();
}

static void started(int n, const MPI_Request requests[]) {
    int i;
    look(n, requests);
    for (i = 0; i < n; i++) found[i] = nl_start(requests[i]);
    names("start", n);
}

NL_MPI(Start)(MPI_Request *request) {
    int on = nl_enter(), rc = NL_REAL(Start)(request);
    if (on) { started(1, request); nl_leave(); }
    return rc;
}

NL_MPI(Startall)(int n, MPI_Request requests[]) {
    int on = nl_enter(), rc = NL_REAL(Startall)(n, requests);
    if (on) { started(n, requests); nl_leave(); }
    return rc;
}

/* All of them are over, or those that `which` lists. */
static void over(const char *word, int n, const int which[]) {
    int i;
    for (i = 0; i < n; i++) found[i] = nl_request(keys[which ? which[i] : i], 0, 1);
    names(word, n);
}

/* Some of `n` are over, and the call would have waited for any. */
static void any_over(int n, int ended, const int which[]) {
    int i, j, nth, known = 0;
    for (i = 0; i < ended; i++) known += nl_request(keys[which[i]], 0, 0) >= 0;
    if (!known) return;
    nl_begin("waitany");
    for (i = 0; i < n; i++) {
        int number;
        /* Of requests with one handle each is named once. */
        for (j = 0, nth = 0; j < i; j++) nth += keys[j] == keys[i];
        if ((number = nl_request(keys[i], nth, 0)) < 0) continue;
        nl_text(" r");
        nl_number((unsigned long long)number);
    }
    nl_text(" done");
    for (i = 0; i < ended; i++) {
        int number = nl_request(keys[which[i]], 0, 1);
        if (number < 0) continue;
        nl_text(" r");
        nl_number((unsigned long long)number);
    }
    nl_end();
}

#define WAITS(Name, n, requests, CALL, BODY, ...)                                                                 \
    NL_MPI(Name)(__VA_ARGS__) {                                                                                   \
        int on = nl_enter(), rc;                                                                                  \
        if (on) look(n, requests);                                                                                \
        rc = NL_REAL(Name) CALL;                                                                                  \
        if (on) { BODY; nl_leave(); }                                                                             \
        return rc;                                                                                                \
    }

WAITS(Wait, 1, r, (r, status), over("wait", 1, NULL), MPI_Request *r, MPI_Status *status)
WAITS(Waitall, n, r, (n, r, status), over("waitall", n, NULL), int n, MPI_Request r[], MPI_Status status[])
WAITS(Waitany, n, r, (n, r, index, status), if (*index >= 0) any_over(n, 1, index), int n, MPI_Request r[], int *index, MPI_Status *status)
WAITS(Waitsome, n, r, (n, r, ended, which, status), if (*ended > 0) any_over(n, *ended, which), int n, MPI_Request r[], int *ended,
      int which[], MPI_Status status[])
WAITS(Test, 1, r, (r, flag, status), if (*flag) over("test", 1, NULL), MPI_Request *r, int *flag, MPI_Status *status)
WAITS(Testall, n, r, (n, r, flag, status), if (*flag) over("test", n, NULL), int n, MPI_Request r[], int *flag, MPI_Status status[])
WAITS(Testany, n, r, (n, r, index, flag, status), if (*flag && *index >= 0) over("test", 1, index), int n, MPI_Request r[], int *index,
      int *flag, MPI_Status *status)
WAITS(Testsome, n, r, (n, r, ended, which, status), if (*ended > 0) over("test", *ended, which), int n, MPI_Request r[], int *ended,
      int which[], MPI_Status status[])
