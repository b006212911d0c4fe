/* Everybody hands on at once, five times around with growing messages; then a token goes round alone. */
#include "program.h"

static void body(void)
{
  int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int step = 0; step < 5; step++) {
    int bytes = 2000 << (2 * step);
    MPI_Sendrecv(buffer, bytes, MPI_BYTE, right, step, buffer + (16 << 20), bytes, MPI_BYTE, left, step, WORLD, IGNORE);
  }
  if (rank > 0)
    MPI_Recv(buffer, 100000, MPI_BYTE, left, 9, WORLD, IGNORE);
  if (rank + 1 < size)
    MPI_Send(buffer, 100000, MPI_BYTE, right, 9, WORLD);
}
