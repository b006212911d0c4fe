/* A ring of neighbours at distances 1 and 4, large and small halos, ten steps. */
#include "program.h"

static void body(void)
{
  static const int distances[] = {1, 4}, bytes[] = {200000, 8000};
  for (int step = 0; step < 10; step++) {
    MPI_Request requests[8];
    int n = 0;
    for (int d = 0; d < 2; d++)
      for (int side = -1; side <= 1; side += 2)
        MPI_Irecv(buffer + n * (1 << 20), bytes[d], MPI_BYTE, (rank + side * distances[d] + size) % size, d, WORLD, &requests[n]), n++;
    for (int d = 0; d < 2; d++)
      for (int side = -1; side <= 1; side += 2)
        MPI_Isend(buffer, bytes[d], MPI_BYTE, (rank + side * distances[d] + size) % size, d, WORLD, &requests[n++]);
    smpi_execute_flops(1e6 + 1e5 * (rank % 3));
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  }
}
