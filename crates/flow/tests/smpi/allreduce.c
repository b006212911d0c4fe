/* Reductions: to all, to one, by prefix and scattered. */
#include "program.h"

static void body(void)
{
  char *other = buffer + (16 << 20);
  MPI_Request request;
  MPI_Allreduce(buffer, other, 8, MPI_CHAR, MPI_SUM, WORLD);
  MPI_Allreduce(buffer, other, 500000, MPI_CHAR, MPI_SUM, WORLD);
  MPI_Reduce(buffer, other, 70000, MPI_CHAR, MPI_SUM, 4, WORLD);
  MPI_Scan(buffer, other, 3000, MPI_CHAR, MPI_SUM, WORLD);
  MPI_Exscan(buffer, other, 90000, MPI_CHAR, MPI_SUM, WORLD);
  MPI_Reduce_scatter_block(buffer, other, 10000, MPI_CHAR, MPI_SUM, WORLD);
  MPI_Iallreduce(buffer, other, 20000, MPI_CHAR, MPI_SUM, WORLD, &request);
  smpi_execute_flops(3e5 * rank);
  MPI_Wait(&request, IGNORE);
}
