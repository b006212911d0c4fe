/* Collectives by name, bytes and root, three arguments each: prints how long every rank takes. Each begins for all ranks at a time of its own.
   Broadcasts before the first let SMPI find out once who shares a node, whatever algorithm it will take. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <smpi/smpi.h>

#define WORLD MPI_COMM_WORLD
#define MOST 64

static char *from, *to;
static int rank, size, equal[MOST], equal_at[MOST], uneven[MOST], uneven_at[MOST], gaps[MOST];

static void blocks(int bytes)
{
  int at = 0;
  for (int i = 0; i < size; i++) {
    equal[i] = bytes;
    equal_at[i] = i * bytes;
    uneven[i] = bytes * (1 + i % 3) / 2;
    uneven_at[i] = at;
    gaps[i] = bytes * (i % 3);
    at += uneven[i];
  }
}

static void call(const char *name, int n, int root)
{
  blocks(n);
  if (!strcmp(name, "barrier"))
    MPI_Barrier(WORLD);
  else if (!strcmp(name, "bcast"))
    MPI_Bcast(from, n, MPI_BYTE, root, WORLD);
  else if (!strcmp(name, "reduce"))
    MPI_Reduce(from, to, n, MPI_BYTE, MPI_BOR, root, WORLD);
  else if (!strcmp(name, "allreduce"))
    MPI_Allreduce(from, to, n, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "gather"))
    MPI_Gather(from, n, MPI_BYTE, to, n, MPI_BYTE, root, WORLD);
  else if (!strcmp(name, "scatter"))
    MPI_Scatter(from, n, MPI_BYTE, to, n, MPI_BYTE, root, WORLD);
  else if (!strcmp(name, "gatherv"))
    MPI_Gatherv(from, uneven[rank], MPI_BYTE, to, uneven, uneven_at, MPI_BYTE, root, WORLD);
  else if (!strcmp(name, "scatterv"))
    MPI_Scatterv(from, uneven, uneven_at, MPI_BYTE, to, uneven[rank], MPI_BYTE, root, WORLD);
  else if (!strcmp(name, "allgather"))
    MPI_Allgather(from, n, MPI_BYTE, to, n, MPI_BYTE, WORLD);
  else if (!strcmp(name, "allgatherv"))
    MPI_Allgatherv(from, uneven[rank], MPI_BYTE, to, uneven, uneven_at, MPI_BYTE, WORLD);
  else if (!strcmp(name, "alltoall"))
    MPI_Alltoall(from, n, MPI_BYTE, to, n, MPI_BYTE, WORLD);
  else if (!strcmp(name, "alltoallv"))
    MPI_Alltoallv(from, equal, equal_at, MPI_BYTE, to, equal, equal_at, MPI_BYTE, WORLD);
  else if (!strcmp(name, "scan"))
    MPI_Scan(from, to, n, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "exscan"))
    MPI_Exscan(from, to, n, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "reduce_scatter"))
    MPI_Reduce_scatter(from, to, equal, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "reduce_scatter_uneven"))
    MPI_Reduce_scatter(from, to, uneven, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "reduce_scatter_gaps"))
    MPI_Reduce_scatter(from, to, gaps, MPI_BYTE, MPI_BOR, WORLD);
  else if (!strcmp(name, "reduce_scatter_block"))
    MPI_Reduce_scatter_block(from, to, n, MPI_BYTE, MPI_BOR, WORLD);
  else
    abort();
}

int main(int argc, char **argv)
{
  static const int before[] = {1, 700, 3000, 100000};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(WORLD, &rank);
  MPI_Comm_size(WORLD, &size);
  from = calloc(8, 1 << 20);
  to = calloc(8, 1 << 20);
  for (int i = 0; i < 4; i++)
    MPI_Bcast(from, before[i], MPI_BYTE, 0, WORLD);
  for (int i = 1; i + 2 < argc; i += 3) {
    char line[80];
    double begin = 100.0 + 10.0 * i;
    /* Hosts do 10^9 operations a second. */
    smpi_execute_flops((begin - MPI_Wtime()) * 1e9);
    begin = MPI_Wtime();
    call(argv[i], atoi(argv[i + 1]), atoi(argv[i + 2]));
    /* In one piece: all ranks write to one descriptor. */
    int length = snprintf(line, sizeof line, "end %d %.17g\n", i / 3, MPI_Wtime() - begin);
    if (write(1, line, length) != length)
      abort();
  }
  MPI_Finalize();
  return 0;
}
