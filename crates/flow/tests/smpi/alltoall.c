/* All-to-alls of several sizes, one with blocks that differ, and allgathers. */
#include "program.h"

static void body(void)
{
  char *other = buffer + (16 << 20);
  int counts[64], from[64], places[64];
  MPI_Alltoall(buffer, 100, MPI_BYTE, other, 100, MPI_BYTE, WORLD);
  MPI_Alltoall(buffer, 20000, MPI_BYTE, other, 20000, MPI_BYTE, WORLD);
  MPI_Alltoall(buffer, 600000, MPI_BYTE, other, 600000, MPI_BYTE, WORLD);
  for (int i = 0; i < size; i++) {
    counts[i] = 1000 * (1 + rank + i);
    from[i] = 1000 * (1 + rank + i);
    places[i] = 100000 * i;
  }
  MPI_Alltoallv(buffer, counts, places, MPI_BYTE, other, from, places, MPI_BYTE, WORLD);
  MPI_Allgather(buffer, 30000, MPI_BYTE, other, 30000, MPI_BYTE, WORLD);
  for (int i = 0; i < size; i++)
    counts[i] = 5000 * (1 + i);
  MPI_Allgatherv(buffer, counts[rank], MPI_BYTE, other, counts, places, MPI_BYTE, WORLD);
}
