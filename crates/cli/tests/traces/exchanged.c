/* Messages whose ends every recorder of MPI sees: EZTrace leaves out what ends receives that are posted beforehand. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, ranks, step;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    char *out = calloc(1, 1 << 20), *in = calloc(1, 1 << 20);
    for (step = 1; step <= 5; step++) {
        MPI_Request sent;
        MPI_Isend(out, 1000 * step, MPI_BYTE, right, step, MPI_COMM_WORLD, &sent);
        MPI_Recv(in, 1000 * step, MPI_BYTE, left, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (rank % 2) {
            MPI_Send(out, 7 * step, MPI_INT, left, 20, MPI_COMM_WORLD);
            MPI_Recv(in, 3 * step, MPI_DOUBLE, left, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 7 * step, MPI_INT, right, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, 3 * step, MPI_DOUBLE, right, 21, MPI_COMM_WORLD);
        }
        MPI_Allreduce(MPI_IN_PLACE, out, 100, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Bcast(in, 50, MPI_INT, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
