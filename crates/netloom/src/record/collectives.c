/* Collectives, blocking and not, and those among neighbours. */
#include "record.h"
#include <stdlib.h>

/* Tag of the messages that a collective among neighbours is written as, where the format has no word for it. */
#define NEIGHBOURS 2000000000ULL

/* The communicator of the present statement, or NL_UNKNOWN if nothing is written. */
static int present;

static int opened(const char *call, const char *word, MPI_Comm comm) {
    present = nl_comm(comm);
    if (present == NL_UNKNOWN) nl_missing(call);
    /* Alone a rank sends nothing. */
    if (present < 0) return 0;
    nl_begin(word);
    return 1;
}

static void closed(MPI_Request *request) {
    nl_comm_of(present);
    if (request) {
        int made = nl_open(*request, 0);
        if (made >= 0) nl_as(made);
    }
    nl_end();
}

static void sized(int count, MPI_Datatype type) {
    nl_text(" ");
    nl_bytes(nl_size(count, type));
}

static void rooted(int root) {
    nl_text(" root ");
    nl_number((unsigned long long)root);
}

static int ranks_of(MPI_Comm comm) {
    int ranks;
    PMPI_Comm_size(comm, &ranks);
    return ranks;
}

static int rank_in(MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

/* Bytes of one rank; `types` has a type for each of them, else all have `type`. */
static unsigned long long bytes_of(const int counts[], int i, MPI_Datatype type, const MPI_Datatype types[]) {
    return nl_size(counts[i], types ? types[i] : type);
}

/* ` word [1 B, 8 B x 15]` */
static void counted(const char *word, int n, const int counts[], MPI_Datatype type, const MPI_Datatype types[]) {
    int i, j;
    nl_text(word);
    nl_text(" [");
    for (i = 0; i < n; i = j) {
        unsigned long long bytes = bytes_of(counts, i, type, types);
        for (j = i + 1; j < n && bytes_of(counts, j, type, types) == bytes; j++) {}
        if (i) nl_text(", ");
        nl_bytes(bytes);
        if (j - i > 1) { nl_text(" x "); nl_number((unsigned long long)(j - i)); }
    }
    nl_text("]");
}

/* The root knows the counts of all ranks, the others their own. */
static void counted_at(MPI_Comm comm, int root, const int counts[], MPI_Datatype type, int count, MPI_Datatype own_type) {
    int n = ranks_of(comm), me = rank_in(comm), i;
    if (me == root) { counted(" counts", n, counts, type, NULL); return; }
    nl_text(" counts [");
    for (i = 0; i < n; i++) {
        if (i) nl_text(", ");
        if (i == me) nl_bytes(nl_size(count, own_type));
        else {
            int zeros = (i < me ? me : n) - i;
            nl_bytes(0);
            if (zeros > 1) { nl_text(" x "); nl_number((unsigned long long)zeros); }
            i += zeros - 1;
        }
    }
    nl_text("]");
}

static void block_at(MPI_Comm comm, int root, int count, MPI_Datatype type, int own_count, MPI_Datatype own_type) {
    if (rank_in(comm) == root) sized(count, type);
    else sized(own_count, own_type);
}

#define EXPAND(...) __VA_ARGS__
#define BOTH(Name, Iname, word, BODY, ARGS, ...)                                                                  \
    NL_MPI(Name)(__VA_ARGS__) {                                                                                   \
        int on = nl_enter(), rc = NL_REAL(Name) ARGS;                                                             \
        if (on) {                                                                                                 \
            if (opened("MPI_" #Name, word, comm)) { BODY; closed(NULL); }                                         \
            nl_leave();                                                                                           \
        }                                                                                                         \
        return rc;                                                                                                \
    }                                                                                                             \
    NL_MPI(Iname)(__VA_ARGS__, MPI_Request *request) {                                                            \
        int on = nl_enter(), rc = NL_REAL(Iname)(EXPAND ARGS, request);                                           \
        if (on) {                                                                                                 \
            if (opened("MPI_" #Iname, "i" word, comm)) { BODY; closed(request); }                                 \
            nl_leave();                                                                                           \
        }                                                                                                         \
        return rc;                                                                                                \
    }

#define T MPI_Datatype
BOTH(Barrier, Ibarrier, "barrier", , (comm), MPI_Comm comm)
BOTH(Bcast, Ibcast, "bcast", sized(n, t); rooted(root), (b, n, t, root, comm), void *b, int n, T t, int root, MPI_Comm comm)
BOTH(Reduce, Ireduce, "reduce", sized(n, t); rooted(root), (s, r, n, t, op, root, comm), const void *s, void *r, int n, T t, MPI_Op op,
     int root, MPI_Comm comm)
BOTH(Allreduce, Iallreduce, "allreduce", sized(n, t), (s, r, n, t, op, comm), const void *s, void *r, int n, T t, MPI_Op op, MPI_Comm comm)
BOTH(Scan, Iscan, "scan", sized(n, t), (s, r, n, t, op, comm), const void *s, void *r, int n, T t, MPI_Op op, MPI_Comm comm)
BOTH(Exscan, Iexscan, "exscan", sized(n, t), (s, r, n, t, op, comm), const void *s, void *r, int n, T t, MPI_Op op, MPI_Comm comm)
BOTH(Reduce_scatter_block, Ireduce_scatter_block, "reduce_scatter_block", sized(n, t), (s, r, n, t, op, comm), const void *s, void *r, int n,
     T t, MPI_Op op, MPI_Comm comm)
BOTH(Reduce_scatter, Ireduce_scatter, "reduce_scatter", counted(" counts", ranks_of(comm), n, t, NULL), (s, r, n, t, op, comm), const void *s,
     void *r, const int n[], T t, MPI_Op op, MPI_Comm comm)
BOTH(Gather, Igather, "gather", block_at(comm, root, rn, rt, sn, st); rooted(root), (s, sn, st, r, rn, rt, root, comm), const void *s, int sn,
     T st, void *r, int rn, T rt, int root, MPI_Comm comm)
BOTH(Scatter, Iscatter, "scatter", block_at(comm, root, sn, st, rn, rt); rooted(root), (s, sn, st, r, rn, rt, root, comm), const void *s,
     int sn, T st, void *r, int rn, T rt, int root, MPI_Comm comm)
BOTH(Gatherv, Igatherv, "gatherv", counted_at(comm, root, rn, rt, sn, st); rooted(root), (s, sn, st, r, rn, rd, rt, root, comm),
     const void *s, int sn, T st, void *r, const int rn[], const int rd[], T rt, int root, MPI_Comm comm)
BOTH(Scatterv, Iscatterv, "scatterv", counted_at(comm, root, sn, st, rn, rt); rooted(root), (s, sn, sd, st, r, rn, rt, root, comm),
     const void *s, const int sn[], const int sd[], T st, void *r, int rn, T rt, int root, MPI_Comm comm)
BOTH(Allgather, Iallgather, "allgather", sized(rn, rt), (s, sn, st, r, rn, rt, comm), const void *s, int sn, T st, void *r, int rn, T rt,
     MPI_Comm comm)
BOTH(Allgatherv, Iallgatherv, "allgatherv", counted(" counts", ranks_of(comm), rn, rt, NULL), (s, sn, st, r, rn, rd, rt, comm),
     const void *s, int sn, T st, void *r, const int rn[], const int rd[], T rt, MPI_Comm comm)
BOTH(Alltoall, Ialltoall, "alltoall", sized(rn, rt), (s, sn, st, r, rn, rt, comm), const void *s, int sn, T st, void *r, int rn, T rt,
     MPI_Comm comm)
BOTH(Alltoallv, Ialltoallv, "alltoallv",
     counted(" sends", ranks_of(comm), s == MPI_IN_PLACE ? rn : sn, s == MPI_IN_PLACE ? rt : st, NULL);
     counted(" receives", ranks_of(comm), rn, rt, NULL),
     (s, sn, sd, st, r, rn, rd, rt, comm), const void *s, const int sn[], const int sd[], T st, void *r, const int rn[], const int rd[], T rt,
     MPI_Comm comm)
BOTH(Alltoallw, Ialltoallw, "alltoallw",
     counted(" sends", ranks_of(comm), s == MPI_IN_PLACE ? rn : sn, MPI_BYTE, s == MPI_IN_PLACE ? rt : st);
     counted(" receives", ranks_of(comm), rn, MPI_BYTE, rt),
     (s, sn, sd, st, r, rn, rd, rt, comm), const void *s, const int sn[], const int sd[], const T st[], void *r, const int rn[],
     const int rd[], const T rt[], MPI_Comm comm)

/* Neighbours of the caller: from whom it receives, and to whom it sends. */
struct neighbours { int in, out, *from, *to, *weights; };

static void neighbours_of(MPI_Comm comm, struct neighbours *found) {
    int kind, i, n = 0, weighted;
    PMPI_Topo_test(comm, &kind);
    found->in = found->out = 0;
    if (kind == MPI_CART) { PMPI_Cartdim_get(comm, &n); found->in = found->out = 2 * n; }
    else if (kind == MPI_GRAPH) { PMPI_Graph_neighbors_count(comm, rank_in(comm), &n); found->in = found->out = n; }
    else if (kind == MPI_DIST_GRAPH) PMPI_Dist_graph_neighbors_count(comm, &found->in, &found->out, &weighted);
    found->from = calloc((size_t)found->in + 1, sizeof(int));
    found->to = calloc((size_t)found->out + 1, sizeof(int));
    found->weights = calloc((size_t)found->in + (size_t)found->out + 1, sizeof(int));
    if (!found->from || !found->to || !found->weights) abort();
    if (kind == MPI_CART)
        for (i = 0; i < n; i++) {
            PMPI_Cart_shift(comm, i, 1, &found->from[2 * i], &found->from[2 * i + 1]);
            found->to[2 * i] = found->from[2 * i];
            found->to[2 * i + 1] = found->from[2 * i + 1];
        }
    else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors(comm, rank_in(comm), n, found->from);
        memcpy(found->to, found->from, (size_t)n * sizeof(int));
    } else if (kind == MPI_DIST_GRAPH)
        PMPI_Dist_graph_neighbors(comm, found->in, found->from, found->weights, found->out, found->to, found->weights + found->in);
}

static void one(const char *word, unsigned long long bytes, const char *to, int peer, MPI_Request key) {
    nl_begin(word);
    nl_text(" ");
    nl_bytes(bytes);
    nl_text(to);
    nl_number((unsigned long long)peer);
    nl_text(" tag ");
    nl_number(NEIGHBOURS);
    nl_comm_of(present);
    nl_as(nl_open(key, 0));
    nl_end();
}

/* Without counts all neighbours get, or give, as much. All messages are open at once and waited for together: the format's own words have one list
   of neighbours for both directions. */
static void exchanged(const char *call, MPI_Comm comm, const int sn[], T st, const T sts[], int each_sent, const int rn[], T rt,
                      const T rts[], int each_received) {
    struct neighbours n;
    int i, posted = 0;
    /* A handle that no library gives: its own place. */
    MPI_Request key;
    memset(&key, 0xa5, sizeof key);
    present = nl_comm(comm);
    if (present == NL_UNKNOWN) nl_missing(call);
    if (present < 0) return;
    neighbours_of(comm, &n);
    for (i = 0; i < n.in; i++)
        if (n.from[i] != MPI_PROC_NULL) {
            one("irecv", rn ? bytes_of(rn, i, rt, rts) : nl_size(each_received, rt), " from ", n.from[i], key);
            posted++;
        }
    for (i = 0; i < n.out; i++)
        if (n.to[i] != MPI_PROC_NULL) {
            one("isend", sn ? bytes_of(sn, i, st, sts) : nl_size(each_sent, st), " to ", n.to[i], key);
            posted++;
        }
    if (posted) nl_begin("waitall");
    for (i = 0; i < posted; i++) {
        nl_text(" r");
        nl_number((unsigned long long)nl_request(nl_key(key), 0, 1));
    }
    if (posted) nl_end();
    free(n.from);
    free(n.to);
    free(n.weights);
}

#define NEIGHBOUR(Name, BODY, ARGS, ...)                                                                          \
    NL_MPI(Neighbor_##Name)(__VA_ARGS__) {                                                                        \
        int on = nl_enter(), rc = NL_REAL(Neighbor_##Name) ARGS;                                                  \
        const char *call = "MPI_Neighbor_" #Name;                                                                 \
        if (on) { BODY; nl_leave(); }                                                                             \
        return rc;                                                                                                \
    }                                                                                                             \
    NL_MPI(Ineighbor_##Name)(__VA_ARGS__, MPI_Request *request) {                                                 \
        int on = nl_enter(), rc = NL_REAL(Ineighbor_##Name)(EXPAND ARGS, request);                                \
        if (on) { nl_missing("MPI_Ineighbor_" #Name); nl_leave(); }                                               \
        return rc;                                                                                                \
    }

NEIGHBOUR(allgather, exchanged(call, comm, NULL, st, NULL, sn, NULL, rt, NULL, rn), (s, sn, st, r, rn, rt, comm), const void *s, int sn, T st,
          void *r, int rn, T rt, MPI_Comm comm)
NEIGHBOUR(alltoall, exchanged(call, comm, NULL, st, NULL, sn, NULL, rt, NULL, rn), (s, sn, st, r, rn, rt, comm), const void *s, int sn, T st,
          void *r, int rn, T rt, MPI_Comm comm)
NEIGHBOUR(allgatherv, exchanged(call, comm, NULL, st, NULL, sn, rn, rt, NULL, 0), (s, sn, st, r, rn, rd, rt, comm), const void *s, int sn,
          T st, void *r, const int rn[], const int rd[], T rt, MPI_Comm comm)
NEIGHBOUR(alltoallv, exchanged(call, comm, sn, st, NULL, 0, rn, rt, NULL, 0), (s, sn, sd, st, r, rn, rd, rt, comm), const void *s,
          const int sn[], const int sd[], T st, void *r, const int rn[], const int rd[], T rt, MPI_Comm comm)
NEIGHBOUR(alltoallw, exchanged(call, comm, sn, MPI_BYTE, st, 0, rn, MPI_BYTE, rt, 0), (s, sn, sd, st, r, rn, rd, rt, comm), const void *s,
          const int sn[], const MPI_Aint sd[], const T st[], void *r, const int rn[], const MPI_Aint rd[], const T rt[], MPI_Comm comm)
