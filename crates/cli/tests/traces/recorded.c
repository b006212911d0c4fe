/* A program of real MPI that calls most of what the recorder knows; with an argument also what it cannot write. */
#include <mpi.h>
#include <stdlib.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* All that there is with windows; on `half` two of the ranks. */
static void one_sided(MPI_Comm half, int rank, int right, int left, double *in) {
    MPI_Win win, two;
    MPI_Group all, one;
    MPI_Request request;
    double *memory, one_more = 1;
    int flag = 0;
    MPI_Win_allocate(800, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_create(in, 800, 8, MPI_INFO_NULL, half, &two);
    MPI_Win_fence(0, win);
    MPI_Put(in, 5, MPI_DOUBLE, right, 0, 5, MPI_DOUBLE, win);
    MPI_Get(in, 3, MPI_DOUBLE, left, 0, 3, MPI_DOUBLE, win);
    MPI_Put(in, 5, MPI_DOUBLE, MPI_PROC_NULL, 0, 5, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    /* The window of two: each posts to the other one. */
    int other;
    MPI_Comm_rank(half, &other);
    other = 1 - other;
    MPI_Comm_group(half, &all);
    MPI_Group_incl(all, 1, &other, &one);
    MPI_Win_post(one, 0, two);
    MPI_Win_start(one, 0, two);
    MPI_Accumulate(in, 2, MPI_DOUBLE, other, 0, 2, MPI_DOUBLE, MPI_SUM, two);
    MPI_Win_complete(two);
    while (!flag) MPI_Win_test(two, &flag);
    /* All take turns with rank 0. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&one_more, in, MPI_DOUBLE, 0, 0, MPI_SUM, win);
    MPI_Compare_and_swap(in, in + 1, in + 2, MPI_LONG, 0, 1, win);
    MPI_Win_flush(0, win);
    MPI_Win_unlock(0, win);
    MPI_Win_lock_all(0, two);
    MPI_Rget(in, 4, MPI_DOUBLE, other, 0, 4, MPI_DOUBLE, two, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Get_accumulate(in, 1, MPI_DOUBLE, in + 5, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, MPI_SUM, two);
    MPI_Win_flush_all(two);
    MPI_Win_unlock_all(two);
    MPI_Win_free(&two);
    MPI_Win_free(&win);
    MPI_Group_free(&all);
    MPI_Group_free(&one);
}

int main(int argc, char **argv) {
    int rank, size, i, flag, index, done, which[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double *out = calloc(100000, sizeof(double)), *in = calloc(100000, sizeof(double));
    /* A ring, one after the other. */
    if (rank == 0) {
        MPI_Send(out, 100, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
        MPI_Recv(in, 100, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, 100, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(1000);
        MPI_Send(out, 100, MPI_DOUBLE, right, 1, MPI_COMM_WORLD);
    }
    MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    /* Messages that overlap, small and large. */
    MPI_Request r[4];
    for (i = 0; i < 10; i++) {
        MPI_Irecv(in, 100000, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(in + 1, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &r[1]);
        MPI_Isend(out, 100000, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &r[2]);
        MPI_Isend(out, 1, MPI_INT, right, 3, MPI_COMM_WORLD, &r[3]);
        if (i == 0) MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
        else if (i == 1) for (int n = 0; n < 4; n++) MPI_Waitany(4, r, &index, MPI_STATUS_IGNORE);
        else if (i == 2) for (int n = 0; n < 4; n += done) MPI_Waitsome(4, r, &done, which, MPI_STATUSES_IGNORE);
        else if (i == 3) for (flag = 0; !flag;) MPI_Testall(4, r, &flag, MPI_STATUSES_IGNORE);
        else for (int n = 0; n < 4; n++) for (flag = 0; !flag;) MPI_Test(&r[n], &flag, MPI_STATUS_IGNORE);
    }
    /* A child that ends writes nothing of what its parent is still to write. */
    pid_t child = fork();
    if (child == 0) exit(0);
    if (child > 0) waitpid(child, NULL, 0);
    /* Persistent requests. */
    MPI_Send_init(out, 10, MPI_DOUBLE, right, 4, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(in, 10, MPI_DOUBLE, left, 4, MPI_COMM_WORLD, &r[1]);
    for (i = 0; i < 3; i++) { MPI_Startall(2, r); MPI_Waitall(2, r, MPI_STATUSES_IGNORE); }
    MPI_Request_free(&r[0]);
    MPI_Request_free(&r[1]);
    /* Communicators. */
    MPI_Comm half, copy, grid, self;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(half, &copy);
    MPI_Bcast(out, 1000, MPI_DOUBLE, 1, copy);
    MPI_Sendrecv(out, 5, MPI_INT, rank / 2, 6, in, 5, MPI_INT, rank / 2, 6, half, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_SELF, &self);
    MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_DOUBLE, MPI_SUM, self);
    int dims[2] = {size / 2, 2}, periods[2] = {1, 0}, counts[64], zeros[64] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
    MPI_Neighbor_alltoall(out, 3, MPI_INT, in, 3, MPI_INT, grid);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &self);
    if (self != MPI_COMM_NULL) { MPI_Barrier(self); MPI_Comm_free(&self); }
    /* Counts by rank. */
    for (i = 0; i < size; i++) counts[i] = i;
    MPI_Gatherv(out, rank, MPI_INT, in, counts, zeros, MPI_INT, 2, MPI_COMM_WORLD);
    MPI_Allgatherv(out, rank, MPI_INT, in, counts, zeros, MPI_INT, MPI_COMM_WORLD);
    for (i = 0; i < size; i++) counts[i] = 7;
    MPI_Alltoallv(out, counts, zeros, MPI_INT, in, counts, zeros, MPI_INT, MPI_COMM_WORLD);
    MPI_Iallreduce(out, in, 1000, MPI_DOUBLE, MPI_SUM, half, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Status seen;
    if (rank == 0) MPI_Send(out, 9, MPI_INT, 1, 8, MPI_COMM_WORLD);
    if (rank == 1) { MPI_Probe(0, 8, MPI_COMM_WORLD, &seen); MPI_Recv(in, 9, MPI_INT, 0, 8, MPI_COMM_WORLD, &seen); }
    if (argc > 1) one_sided(half, rank, right, left, in);
    if (argc > 2) {
        MPI_Comm later;
        MPI_Comm_idup(MPI_COMM_WORLD, &later, &r[0]);
        MPI_Wait(&r[0], MPI_STATUS_IGNORE);
        MPI_Comm_free(&later);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
