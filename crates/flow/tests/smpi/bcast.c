/* Broadcasts of small, medium and large vectors from several roots, and one that does not block. */
#include "program.h"

static void body(void)
{
  MPI_Request request;
  MPI_Bcast(buffer, 1000, MPI_BYTE, 0, WORLD);
  MPI_Bcast(buffer, 65000, MPI_BYTE, 5, WORLD);
  MPI_Bcast(buffer, 2000000, MPI_BYTE, 3, WORLD);
  MPI_Barrier(WORLD);
  MPI_Ibcast(buffer, 300000, MPI_BYTE, 1, WORLD, &request);
  smpi_execute_flops(1e6);
  MPI_Wait(&request, IGNORE);
}
