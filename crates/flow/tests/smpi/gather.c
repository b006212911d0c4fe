/* Gathers and scatters, of equal and unequal blocks, below and beyond the threshold. */
#include "program.h"

static void body(void)
{
  char *other = buffer + (16 << 20);
  int counts[64], places[64];
  MPI_Gather(buffer, 4000, MPI_BYTE, other, 4000, MPI_BYTE, 0, WORLD);
  MPI_Scatter(buffer, 4000, MPI_BYTE, other, 4000, MPI_BYTE, 2, WORLD);
  MPI_Gather(buffer, 250000, MPI_BYTE, other, 250000, MPI_BYTE, 7, WORLD);
  MPI_Scatter(buffer, 250000, MPI_BYTE, other, 250000, MPI_BYTE, 0, WORLD);
  for (int i = 0; i < size; i++) {
    counts[i] = 20000 * (1 + i);
    places[i] = 400000 * i;
  }
  MPI_Gatherv(buffer, counts[rank], MPI_BYTE, other, counts, places, MPI_BYTE, 0, WORLD);
  MPI_Scatterv(buffer, counts, places, MPI_BYTE, other, counts[rank], MPI_BYTE, 0, WORLD);
}
