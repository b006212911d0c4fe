/* The calls of MPI that Netloom makes, on 64-bit words. Errors end the whole run, as MPI does by itself. */

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of the exchange under way: one request by rank. */
static MPI_Request *requests;

/* Starts MPI; one thread will speak. False if it cannot. */
int netloom_mpi_init(int *rank, int *ranks) {
    int provided = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) return 0;
    if (provided < MPI_THREAD_FUNNELED) return 0;
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, ranks);
    requests = malloc((size_t)*ranks * sizeof *requests);
    if (requests == NULL) return 0;
    for (int r = 0; r < *ranks; r++) requests[r] = MPI_REQUEST_NULL;
    return 1;
}

/* Begins to send words; they stay as they are until netloom_mpi_sent. */
void netloom_mpi_send(int to, int tag, const uint64_t *words, int count) {
    MPI_Isend((void *)words, count, MPI_UINT64_T, to, tag, MPI_COMM_WORLD, &requests[to]);
}

/* What netloom_mpi_receive takes next. */
static MPI_Message waiting;

/* Waits for words of a rank: how many there are. Negative if they have another tag; then they cannot be taken. */
int netloom_mpi_await(int from, int tag) {
    MPI_Status status;
    int count = 0;
    MPI_Mprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &waiting, &status);
    if (status.MPI_TAG != tag) return -1;
    MPI_Get_count(&status, MPI_UINT64_T, &count);
    return count;
}

/* Takes the words that were waited for. */
void netloom_mpi_receive(uint64_t *words, int count) {
    MPI_Mrecv(words, count, MPI_UINT64_T, &waiting, MPI_STATUS_IGNORE);
}

/* Waits until all words that were sent have left. */
void netloom_mpi_sent(int ranks) {
    MPI_Waitall(ranks, requests, MPI_STATUSES_IGNORE);
}

/* Name and version of the MPI, cut to so many bytes. */
void netloom_mpi_version(char *text, int bytes) {
    char all[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(all, &length);
    strncpy(text, all, (size_t)bytes - 1);
    text[bytes - 1] = 0;
}

void netloom_mpi_finalize(void) {
    free(requests);
    MPI_Finalize();
}

void netloom_mpi_abort(int status) {
    MPI_Abort(MPI_COMM_WORLD, status);
}
