/* Messages that come before their receives, synchronous sends, any source, computations between all of them. */
#include "program.h"

static void body(void)
{
  for (int step = 0; step < 3; step++) {
    smpi_execute_flops(2e5 * (1 + (rank * 7 + step) % 5));
    if (rank % 2 == 0) {
      MPI_Send(buffer, 30000, MPI_BYTE, rank + 1, 0, WORLD);
      smpi_execute_flops(5e5);
      MPI_Ssend(buffer, 1000, MPI_BYTE, rank + 1, 1, WORLD);
      MPI_Send(buffer, 400000, MPI_BYTE, rank + 1, 2, WORLD);
    } else {
      smpi_execute_flops(1e6);
      MPI_Recv(buffer, 30000, MPI_BYTE, rank - 1, 0, WORLD, IGNORE);
      MPI_Recv(buffer, 1000, MPI_BYTE, rank - 1, 1, WORLD, IGNORE);
      smpi_execute_flops(4e5);
      MPI_Recv(buffer, 400000, MPI_BYTE, rank - 1, 2, WORLD, IGNORE);
    }
    if (rank > 0)
      MPI_Send(buffer, 10000 * rank, MPI_BYTE, 0, 3, WORLD);
    else
      for (int i = 1; i < size; i++)
        MPI_Recv(buffer, 10000 * i, MPI_BYTE, i, 3, WORLD, IGNORE);
    MPI_Allreduce(buffer, buffer + (16 << 20), 1000, MPI_CHAR, MPI_SUM, WORLD);
  }
}
