/* A random MPI program: ROUNDS of exchanges in different calls, drawn by SEED alike on all ranks. Each rank writes what it sends to FILE-RANK, a line a message:
 * `sent TO BYTES`; and collectives: `called NAME`. Arguments: SEED ROUNDS FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long long state;

/* Xorshift: the same draws everywhere. */
static unsigned below(unsigned bound) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)((state >> 33) % bound);
}

int main(int argc, char **argv) {
  static char in[1 << 17], out[1 << 17];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  state = 0x9e3779b97f4a7c15ull * (strtoull(argv[1], NULL, 10) + 1);
  int rounds = atoi(argv[2]);
  char name[4096];
  snprintf(name, sizeof name, "%s-%d", argv[3], rank);
  FILE *said = fopen(name, "w");
  if (said == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int round = 0; round < rounds; round++) {
    static const int sizes[] = {0, 1, 8, 1000, 4096, 70000, 1 << 17};
    int bytes = sizes[below(7)], shift = 1 + (int)below(size - 1), tag = (int)below(1000);
    int to = (rank + shift) % size, from = (rank + size - shift) % size;
    unsigned words = below(7);
    MPI_Request both[2];
    if (words < 4) fprintf(said, "sent %d %d\n", to, bytes);
    switch (words) {
    case 0:
      MPI_Irecv(in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, &both[0]);
      MPI_Isend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &both[1]);
      MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
      break;
    case 1:
      MPI_Sendrecv(out, bytes, MPI_CHAR, to, tag, in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Irecv(in, bytes, MPI_CHAR, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &both[0]);
      MPI_Ssend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD);
      MPI_Wait(&both[0], MPI_STATUS_IGNORE);
      /* Nobody goes on with this tag before all are here: whom the receive meets is known. */
      MPI_Barrier(MPI_COMM_WORLD);
      fprintf(said, "called barrier\n");
      break;
    case 3:
      MPI_Isend(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &both[0]);
      MPI_Recv(in, bytes, MPI_CHAR, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&both[0], MPI_STATUS_IGNORE);
      break;
    case 4:
      MPI_Allreduce(out, in, bytes / 8, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
      fprintf(said, "called allreduce\n");
      break;
    case 5:
      MPI_Bcast(in, bytes, MPI_CHAR, shift % size, MPI_COMM_WORLD);
      fprintf(said, "called bcast\n");
      break;
    default:
      MPI_Alltoall(out, 64, MPI_CHAR, in, 64, MPI_CHAR, MPI_COMM_WORLD);
      fprintf(said, "called alltoall\n");
    }
  }
  fclose(said);
  MPI_Finalize();
  return 0;
}
