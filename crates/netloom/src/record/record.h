/* What the parts of the recorder have in common. It stands between a program and its MPI library (MPI's profiling interface) and writes what each
   rank calls as statements of Netloom's format `ranks`, one file for each rank. */
#ifndef NETLOOM_RECORD_H
#define NETLOOM_RECORD_H

#include <mpi.h>
#include <stdint.h>
#include <string.h>

/* Defines a call of MPI under both of its names. Bindings of other languages call C's under the second one: Open MPI's of Fortran do. */
#define NL_MPI(Name)                                                                                              \
    extern __typeof__(PMPI_##Name) PMPI_##Name __attribute__((alias("MPI_" #Name)));                              \
    int MPI_##Name

/* The same call in MPI's own library. */
#define NL_REAL(Name)                                                                                             \
    (*({                                                                                                          \
        static __typeof__(PMPI_##Name) *real;                                                                     \
        if (!real) *(void **)&real = nl_real("PMPI_" #Name);                                                      \
        real;                                                                                                     \
    }))
void *nl_real(const char *name);

/* Communicators that have no number in the trace: of the caller alone, and those whose making could not be written. */
#define NL_SELF (-1)
#define NL_UNKNOWN (-2)

/* A call begins: 0 if it is not to be recorded, as it comes from inside another one. What is 1 ends with nl_leave. */
int nl_enter(void);
void nl_leave(void);

/* Text of the present statement. The first piece, nl_begin, writes the computation before it. */
void nl_begin(const char *word);
void nl_text(const char *text);
void nl_number(unsigned long long number);
void nl_bytes(unsigned long long bytes);
void nl_end(void);

/* Counts a call that the format has no words for. `name` is a literal. */
void nl_missing(const char *name);

/* Number of a communicator; 0 is the one of all ranks. */
int nl_comm(MPI_Comm comm);
void nl_comm_of(int number);
/* Rank of the job of a caller that is alone in a communicator. */
int nl_own_rank(void);

/* Requests. Several may have one handle: libraries share one among all that were complete at once. They end in their order. */
uint64_t nl_key(MPI_Request request);
int nl_open(MPI_Request request, int persistent);
/* The number of an open request by its key, or -1; `end` ends it, unless it is persistent. `nth` of those with the same key. */
int nl_request(uint64_t key, int nth, int end);
int nl_start(MPI_Request request);
int nl_release(MPI_Request request);
void nl_as(int number);

unsigned long long nl_size(int count, MPI_Datatype type);

#endif
