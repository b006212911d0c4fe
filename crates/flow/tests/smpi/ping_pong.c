/* Sizes on both sides of each threshold, between hosts of one cluster and of two. */
#include "program.h"

static void body(void)
{
  static const int sizes[] = {1, 240, 241, 242, 716, 717, 1410, 1411, 3468, 3469, 5760, 5761, 9360, 9361, 15408, 15409,
                              65456, 65457, 65535, 65536, 300000, 1000000, 8000000};
  for (int peer = 1; peer < size; peer += size / 2)
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      if (rank == 0) {
        MPI_Send(buffer, sizes[i], MPI_BYTE, peer, 0, WORLD);
        MPI_Recv(buffer, sizes[i], MPI_BYTE, peer, 0, WORLD, IGNORE);
      } else if (rank == peer) {
        MPI_Recv(buffer, sizes[i], MPI_BYTE, 0, 0, WORLD, IGNORE);
        MPI_Send(buffer, sizes[i], MPI_BYTE, 0, 0, WORLD);
      }
    }
}
