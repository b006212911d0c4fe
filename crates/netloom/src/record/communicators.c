/* Communicators: their numbers, and the calls that make them. */
#include "record.h"
#include <stdlib.h>

struct made { MPI_Comm comm; int number; };
static struct made *list;
static int length, room, *numbers, free_numbers, numbers_room, made = 1;

int nl_comm(MPI_Comm comm) {
    int i;
    if (comm == MPI_COMM_WORLD) return 0;
    if (comm == MPI_COMM_SELF) return NL_SELF;
    for (i = length - 1; i >= 0; i--)
        if (list[i].comm == comm) return list[i].number;
    return NL_UNKNOWN;
}

void nl_comm_of(int number) {
    if (number > 0) {
        nl_text(" comm c");
        nl_number((unsigned long long)number);
    }
}

static void name(int number) {
    nl_text(number ? " c" : " world");
    if (number) nl_number((unsigned long long)number);
}

static int new_number(void) { return free_numbers ? numbers[--free_numbers] : made++; }

static void give_back(int number) {
    if (free_numbers == numbers_room) {
        numbers_room = numbers_room ? 2 * numbers_room : 16;
        if (!(numbers = realloc(numbers, (size_t)numbers_room * sizeof *numbers))) abort();
    }
    numbers[free_numbers++] = number;
}

static void add(MPI_Comm comm, int number) {
    if (length == room) {
        room = room ? 2 * room : 16;
        if (!(list = realloc(list, (size_t)room * sizeof *list))) abort();
    }
    list[length].comm = comm;
    list[length++].number = number;
}

static void forget(MPI_Comm comm) {
    int i;
    for (i = length - 1; i >= 0; i--)
        if (list[i].comm == comm) {
            int number = list[i].number;
            list[i] = list[--length];
            if (number <= 0) return;
            nl_begin("free_comm");
            name(number);
            nl_end();
            give_back(number);
            return;
        }
}

/* Whatever call made parts of a communicator: the part of a rank is told by its first rank, and the order in it by the new ranks. */
static void part(const char *call, MPI_Comm parent, MPI_Comm new) {
    int from = nl_comm(parent), number, zero = 0, color = 0, key = 0;
    MPI_Group old_group, new_group;
    if (from == NL_UNKNOWN) { nl_missing(call); return; }
    if (from == NL_SELF) {
        if (new != MPI_COMM_NULL) add(new, NL_SELF);
        return;
    }
    number = new_number();
    nl_begin("split");
    name(from);
    if (new == MPI_COMM_NULL) {
        nl_text(" color none as");
        name(number);
        nl_end();
        give_back(number);
        return;
    }
    PMPI_Comm_group(parent, &old_group);
    PMPI_Comm_group(new, &new_group);
    PMPI_Group_translate_ranks(new_group, 1, &zero, old_group, &color);
    PMPI_Group_free(&old_group);
    PMPI_Group_free(&new_group);
    PMPI_Comm_rank(new, &key);
    nl_text(" color ");
    nl_number((unsigned long long)color);
    nl_text(" key ");
    nl_number((unsigned long long)key);
    nl_text(" as");
    name(number);
    nl_end();
    add(new, number);
}

static void copy(const char *call, MPI_Comm parent, MPI_Comm new) {
    int from = nl_comm(parent), number;
    if (from == NL_UNKNOWN) { nl_missing(call); return; }
    if (from == NL_SELF) { add(new, NL_SELF); return; }
    number = new_number();
    nl_begin("dup");
    name(from);
    nl_text(" as");
    name(number);
    nl_end();
    add(new, number);
}

#define MAKER(How, Name, parent, new, ARGS, ...)                                                                  \
    NL_MPI(Name)(__VA_ARGS__) {                                                                                   \
        int on = nl_enter(), rc = NL_REAL(Name) ARGS;                                                             \
        if (on) {                                                                                                 \
            if (rc == MPI_SUCCESS) How("MPI_" #Name, parent, *(new));                                             \
            nl_leave();                                                                                           \
        }                                                                                                         \
        return rc;                                                                                                \
    }

MAKER(copy, Comm_dup, comm, new, (comm, new), MPI_Comm comm, MPI_Comm *new)
MAKER(copy, Comm_dup_with_info, comm, new, (comm, info, new), MPI_Comm comm, MPI_Info info, MPI_Comm *new)
MAKER(part, Comm_split, comm, new, (comm, color, key, new), MPI_Comm comm, int color, int key, MPI_Comm *new)
MAKER(part, Comm_split_type, comm, new, (comm, type, key, info, new), MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *new)
MAKER(part, Comm_create, comm, new, (comm, group, new), MPI_Comm comm, MPI_Group group, MPI_Comm *new)
MAKER(part, Cart_create, comm, new, (comm, n, dims, periods, reorder, new), MPI_Comm comm, int n, const int dims[], const int periods[],
      int reorder, MPI_Comm *new)
MAKER(part, Cart_sub, comm, new, (comm, remain, new), MPI_Comm comm, const int remain[], MPI_Comm *new)
MAKER(part, Graph_create, comm, new, (comm, n, index, edges, reorder, new), MPI_Comm comm, int n, const int index[], const int edges[],
      int reorder, MPI_Comm *new)
MAKER(part, Dist_graph_create, comm, new, (comm, n, nodes, degrees, targets, weights, info, reorder, new), MPI_Comm comm, int n,
      const int nodes[], const int degrees[], const int targets[], const int weights[], MPI_Info info, int reorder, MPI_Comm *new)
MAKER(part, Dist_graph_create_adjacent, comm, new, (comm, in, sources, sw, out, targets, tw, info, reorder, new), MPI_Comm comm, int in,
      const int sources[], const int sw[], int out, const int targets[], const int tw[], MPI_Info info, int reorder, MPI_Comm *new)

#define FREER(Name)                                                                                               \
    NL_MPI(Name)(MPI_Comm *comm) {                                                                                \
        int on = nl_enter(), rc;                                                                                  \
        if (on) forget(*comm);                                                                                    \
        rc = NL_REAL(Name)(comm);                                                                                 \
        if (on) nl_leave();                                                                                       \
        return rc;                                                                                                \
    }

FREER(Comm_free)
FREER(Comm_disconnect)
