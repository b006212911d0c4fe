/* Calls that send or synchronise and that the format has no words for: they are counted, and a replay says that they are missing. */
#include "record.h"

#define MISSING(Name, ARGS, ...)                                                                                  \
    int MPI_##Name(__VA_ARGS__) {                                                                                 \
        int on = nl_enter(), rc = PMPI_##Name ARGS;                                                               \
        if (on) { nl_missing("MPI_" #Name); nl_leave(); }                                                         \
        return rc;                                                                                                \
    }

#define T MPI_Datatype
#define TARGET int n, T t, int rank, MPI_Aint at, int tn, T tt
MISSING(Put, (b, n, t, rank, at, tn, tt, win), const void *b, TARGET, MPI_Win win)
MISSING(Get, (b, n, t, rank, at, tn, tt, win), void *b, TARGET, MPI_Win win)
MISSING(Accumulate, (b, n, t, rank, at, tn, tt, op, win), const void *b, TARGET, MPI_Op op, MPI_Win win)
MISSING(Get_accumulate, (b, n, t, r, rn, rt, rank, at, tn, tt, op, win), const void *b, int n, T t, void *r, int rn, T rt, int rank,
        MPI_Aint at, int tn, T tt, MPI_Op op, MPI_Win win)
MISSING(Fetch_and_op, (b, r, t, rank, at, op, win), const void *b, void *r, T t, int rank, MPI_Aint at, MPI_Op op, MPI_Win win)
MISSING(Compare_and_swap, (b, c, r, t, rank, at, win), const void *b, const void *c, void *r, T t, int rank, MPI_Aint at, MPI_Win win)
MISSING(Rput, (b, n, t, rank, at, tn, tt, win, request), const void *b, TARGET, MPI_Win win, MPI_Request *request)
MISSING(Rget, (b, n, t, rank, at, tn, tt, win, request), void *b, TARGET, MPI_Win win, MPI_Request *request)
MISSING(Raccumulate, (b, n, t, rank, at, tn, tt, op, win, request), const void *b, TARGET, MPI_Op op, MPI_Win win, MPI_Request *request)
MISSING(Rget_accumulate, (b, n, t, r, rn, rt, rank, at, tn, tt, op, win, request), const void *b, int n, T t, void *r, int rn, T rt, int rank,
        MPI_Aint at, int tn, T tt, MPI_Op op, MPI_Win win, MPI_Request *request)
MISSING(Win_create, (b, size, unit, info, comm, win), void *b, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
MISSING(Win_allocate, (size, unit, info, comm, b, win), MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win)
MISSING(Win_allocate_shared, (size, unit, info, comm, b, win), MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *b, MPI_Win *win)
MISSING(Win_create_dynamic, (info, comm, win), MPI_Info info, MPI_Comm comm, MPI_Win *win)
MISSING(Win_free, (win), MPI_Win *win)
MISSING(Win_fence, (assert, win), int assert, MPI_Win win)
MISSING(Win_start, (group, assert, win), MPI_Group group, int assert, MPI_Win win)
MISSING(Win_complete, (win), MPI_Win win)
MISSING(Win_post, (group, assert, win), MPI_Group group, int assert, MPI_Win win)
MISSING(Win_wait, (win), MPI_Win win)
MISSING(Win_test, (win, flag), MPI_Win win, int *flag)
MISSING(Win_lock, (kind, rank, assert, win), int kind, int rank, int assert, MPI_Win win)
MISSING(Win_lock_all, (assert, win), int assert, MPI_Win win)
MISSING(Win_unlock, (rank, win), int rank, MPI_Win win)
MISSING(Win_unlock_all, (win), MPI_Win win)
MISSING(Win_flush, (rank, win), int rank, MPI_Win win)
MISSING(Win_flush_all, (win), MPI_Win win)
MISSING(Comm_idup, (comm, new, request), MPI_Comm comm, MPI_Comm *new, MPI_Request *request)
MISSING(Comm_create_group, (comm, group, tag, new), MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *new)
MISSING(Intercomm_create, (local, leader, peer, remote, tag, new), MPI_Comm local, int leader, MPI_Comm peer, int remote, int tag,
        MPI_Comm *new)
MISSING(Intercomm_merge, (comm, high, new), MPI_Comm comm, int high, MPI_Comm *new)
MISSING(Comm_accept, (port, info, root, comm, new), const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *new)
MISSING(Comm_connect, (port, info, root, comm, new), const char *port, MPI_Info info, int root, MPI_Comm comm, MPI_Comm *new)
MISSING(Comm_join, (fd, new), int fd, MPI_Comm *new)
MISSING(Comm_spawn, (command, argv, n, info, root, comm, new, codes), const char *command, char *argv[], int n, MPI_Info info, int root,
        MPI_Comm comm, MPI_Comm *new, int codes[])
MISSING(Comm_spawn_multiple, (count, commands, argv, n, info, root, comm, new, codes), int count, char *commands[], char **argv[],
        const int n[], const MPI_Info info[], int root, MPI_Comm comm, MPI_Comm *new, int codes[])
