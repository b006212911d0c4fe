/* Calls that send or synchronise and that the format has no words for: they are counted, and a replay says that they are missing. */
#include "record.h"

#define MISSING(Name, ARGS, ...)                                                                                  \
    NL_MPI(Name)(__VA_ARGS__) {                                                                                   \
        int on = nl_enter(), rc = NL_REAL(Name) ARGS;                                                             \
        if (on) { nl_missing("MPI_" #Name); nl_leave(); }                                                         \
        return rc;                                                                                                \
    }

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
