/* One-sided communication: windows, transfers, and what separates them. */
#include "record.h"
#include <stdlib.h>

/* Windows and their numbers; NL_SELF and NL_UNKNOWN as those of the communicators that they are made on. */
static struct open { MPI_Win win; int number; } *list;
static int length, room, *numbers, free_numbers, numbers_room, made;

static int number_of(MPI_Win win) {
    int i;
    for (i = length - 1; i >= 0; i--)
        if (list[i].win == win) return list[i].number;
    return NL_UNKNOWN;
}

static void name(int number) {
    nl_text(" w");
    nl_number((unsigned long long)number);
}

static void add(const char *call, MPI_Comm comm, MPI_Win win) {
    int on = nl_comm(comm), number = on;
    if (on == NL_UNKNOWN) nl_missing(call);
    if (on >= 0) {
        number = free_numbers ? numbers[--free_numbers] : made++;
        nl_begin("win_create");
        nl_text(on ? " c" : " world");
        if (on) nl_number((unsigned long long)on);
        nl_text(" as");
        name(number);
        nl_end();
    }
    if (length == room) {
        room = room ? 2 * room : 16;
        if (!(list = realloc(list, (size_t)room * sizeof *list))) abort();
    }
    list[length].win = win;
    list[length++].number = number;
}

/* Begins a statement on a window; 0 if nothing is written. */
static int begun(const char *call, const char *word, MPI_Win win) {
    int number = number_of(win);
    if (number == NL_UNKNOWN) nl_missing(call);
    if (number < 0) return 0;
    nl_begin(word);
    name(number);
    return 1;
}

static void forget(const char *call, MPI_Win win) {
    int i;
    if (begun(call, "win_free", win)) nl_end();
    for (i = length - 1; i >= 0; i--)
        if (list[i].win == win) {
            int number = list[i].number;
            list[i] = list[--length];
            if (number < 0) return;
            if (free_numbers == numbers_room) {
                numbers_room = numbers_room ? 2 * numbers_room : 16;
                if (!(numbers = realloc(numbers, (size_t)numbers_room * sizeof *numbers))) abort();
            }
            numbers[free_numbers++] = number;
            return;
        }
}

/* A statement without more words, or with a rank. */
static void plain(const char *call, const char *word, MPI_Win win) {
    if (begun(call, word, win)) nl_end();
}

static void with(const char *call, const char *word, int rank, const char *more, MPI_Win win) {
    if (rank == MPI_PROC_NULL || !begun(call, word, win)) return;
    nl_text(" ");
    nl_number((unsigned long long)rank);
    nl_text(more);
    nl_end();
}

/* A statement with a group, whose ranks are told as the window counts them. */
static void grouped(const char *call, const char *word, MPI_Group group, MPI_Win win) {
    MPI_Group all;
    int i, n, *from, *to;
    if (!begun(call, word, win)) return;
    PMPI_Group_size(group, &n);
    if (!(from = malloc((size_t)(2 * n + 1) * sizeof *from))) abort();
    to = from + n;
    for (i = 0; i < n; i++) from[i] = i;
    PMPI_Win_get_group(win, &all);
    PMPI_Group_translate_ranks(group, n, from, all, to);
    PMPI_Group_free(&all);
    nl_text(" group [");
    for (i = 0; i < n; i++) {
        if (i) nl_text(", ");
        nl_number((unsigned long long)to[i]);
    }
    nl_text("]");
    nl_end();
    free(from);
}

static void transfer(const char *call, const char *word, const char *way, int n, MPI_Datatype type, int rank, MPI_Win win,
                     MPI_Request *request) {
    int number = number_of(win), opened;
    if (number == NL_UNKNOWN) nl_missing(call);
    if (number < 0) return;
    nl_begin(word);
    nl_text(" ");
    nl_bytes(nl_size(n, type));
    nl_text(way);
    if (rank == MPI_PROC_NULL) nl_text("null");
    else nl_number((unsigned long long)rank);
    nl_text(" win");
    name(number);
    if (request && (opened = nl_open(*request, 0)) >= 0) nl_as(opened);
    nl_end();
}

#define WRAPPED(Name, ARGS, WRITE, ...)                                                                           \
    NL_MPI(Name)(__VA_ARGS__) {                                                                                   \
        int on = nl_enter(), rc = NL_REAL(Name) ARGS;                                                             \
        if (on) { if (rc == MPI_SUCCESS) { WRITE; } nl_leave(); }                                                 \
        return rc;                                                                                                \
    }

#define T MPI_Datatype
#define TARGET int n, T t, int rank, MPI_Aint at, int tn, T tt
#define FETCH const void *b, int n, T t, void *r, int rn, T rt, int rank, MPI_Aint at, int tn, T tt, MPI_Op op
/* What replaces nothing is an atomic get. */
#define FETCHED(Name, n, type, request)                                                                           \
    transfer(Name, op == MPI_NO_OP ? "get" : word, op == MPI_NO_OP ? " from " : " to ", n, type, rank, win, request)

WRAPPED(Win_create, (b, size, unit, info, comm, win), add("MPI_Win_create", comm, *win), void *b, MPI_Aint size, int unit,
        MPI_Info info, MPI_Comm comm, MPI_Win *win)
WRAPPED(Win_allocate, (size, unit, info, comm, b, win), add("MPI_Win_allocate", comm, *win), MPI_Aint size, int unit, MPI_Info info,
        MPI_Comm comm, void *b, MPI_Win *win)
WRAPPED(Win_allocate_shared, (size, unit, info, comm, b, win), add("MPI_Win_allocate_shared", comm, *win), MPI_Aint size, int unit,
        MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win)
WRAPPED(Win_create_dynamic, (info, comm, win), add("MPI_Win_create_dynamic", comm, *win), MPI_Info info, MPI_Comm comm, MPI_Win *win)

NL_MPI(Win_free)(MPI_Win *win) {
    int on = nl_enter(), rc;
    if (on) forget("MPI_Win_free", *win);
    rc = NL_REAL(Win_free)(win);
    if (on) nl_leave();
    return rc;
}

WRAPPED(Put, (b, n, t, rank, at, tn, tt, win), transfer("MPI_Put", "put", " to ", n, t, rank, win, NULL), const void *b, TARGET,
        MPI_Win win)
WRAPPED(Get, (b, n, t, rank, at, tn, tt, win), transfer("MPI_Get", "get", " from ", n, t, rank, win, NULL), void *b, TARGET,
        MPI_Win win)
WRAPPED(Accumulate, (b, n, t, rank, at, tn, tt, op, win), transfer("MPI_Accumulate", "accumulate", " to ", n, t, rank, win, NULL),
        const void *b, TARGET, MPI_Op op, MPI_Win win)
WRAPPED(Get_accumulate, (b, n, t, r, rn, rt, rank, at, tn, tt, op, win),
        const char *word = "get_accumulate"; FETCHED("MPI_Get_accumulate", rn, rt, NULL), FETCH, MPI_Win win)
WRAPPED(Fetch_and_op, (b, r, t, rank, at, op, win), const char *word = "fetch_and_op"; FETCHED("MPI_Fetch_and_op", 1, t, NULL),
        const void *b, void *r, T t, int rank, MPI_Aint at, MPI_Op op, MPI_Win win)
WRAPPED(Compare_and_swap, (b, c, r, t, rank, at, win),
        transfer("MPI_Compare_and_swap", "compare_and_swap", " to ", 1, t, rank, win, NULL), const void *b, const void *c, void *r,
        T t, int rank, MPI_Aint at, MPI_Win win)
WRAPPED(Rput, (b, n, t, rank, at, tn, tt, win, request), transfer("MPI_Rput", "put", " to ", n, t, rank, win, request),
        const void *b, TARGET, MPI_Win win, MPI_Request *request)
WRAPPED(Rget, (b, n, t, rank, at, tn, tt, win, request), transfer("MPI_Rget", "get", " from ", n, t, rank, win, request), void *b,
        TARGET, MPI_Win win, MPI_Request *request)
WRAPPED(Raccumulate, (b, n, t, rank, at, tn, tt, op, win, request),
        transfer("MPI_Raccumulate", "accumulate", " to ", n, t, rank, win, request), const void *b, TARGET, MPI_Op op, MPI_Win win,
        MPI_Request *request)
WRAPPED(Rget_accumulate, (b, n, t, r, rn, rt, rank, at, tn, tt, op, win, request),
        const char *word = "get_accumulate"; FETCHED("MPI_Rget_accumulate", rn, rt, request), FETCH, MPI_Win win,
        MPI_Request *request)

WRAPPED(Win_fence, (assert, win), plain("MPI_Win_fence", "win_fence", win), int assert, MPI_Win win)
WRAPPED(Win_start, (group, assert, win), grouped("MPI_Win_start", "win_start", group, win), MPI_Group group, int assert, MPI_Win win)
WRAPPED(Win_post, (group, assert, win), grouped("MPI_Win_post", "win_post", group, win), MPI_Group group, int assert, MPI_Win win)
WRAPPED(Win_complete, (win), plain("MPI_Win_complete", "win_complete", win), MPI_Win win)
WRAPPED(Win_wait, (win), plain("MPI_Win_wait", "win_wait", win), MPI_Win win)
WRAPPED(Win_test, (win, flag), if (*flag) plain("MPI_Win_test", "win_wait", win), MPI_Win win, int *flag)
WRAPPED(Win_lock, (kind, rank, assert, win),
        with("MPI_Win_lock", "win_lock", rank, kind == MPI_LOCK_EXCLUSIVE ? " exclusive" : " shared", win), int kind, int rank,
        int assert, MPI_Win win)
WRAPPED(Win_unlock, (rank, win), with("MPI_Win_unlock", "win_unlock", rank, "", win), int rank, MPI_Win win)
WRAPPED(Win_lock_all, (assert, win), plain("MPI_Win_lock_all", "win_lock_all", win), int assert, MPI_Win win)
WRAPPED(Win_unlock_all, (win), plain("MPI_Win_unlock_all", "win_unlock_all", win), MPI_Win win)
WRAPPED(Win_flush, (rank, win), with("MPI_Win_flush", "win_flush", rank, "", win), int rank, MPI_Win win)
WRAPPED(Win_flush_all, (win), plain("MPI_Win_flush_all", "win_flush_all", win), MPI_Win win)
WRAPPED(Win_flush_local, (rank, win), with("MPI_Win_flush_local", "win_flush_local", rank, "", win), int rank, MPI_Win win)
WRAPPED(Win_flush_local_all, (win), plain("MPI_Win_flush_local_all", "win_flush_local_all", win), MPI_Win win)
