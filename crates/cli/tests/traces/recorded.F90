! The same calls by each of Fortran's bindings to MPI: BINDING is 1 for mpif.h, 2 for `use mpi`, 3 for `use mpi_f08`.
program recorded
#if BINDING == 3
  use mpi_f08
#elif BINDING == 2
  use mpi
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_Request) :: requests(2)
  type(MPI_Comm) :: half
  type(MPI_Status) :: seen
#else
  integer :: requests(2), half, seen(MPI_STATUS_SIZE)
#endif
  integer :: ierr, rank, ranks, right, left, step
  double precision :: a(100), b(100)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  a = rank
  do step = 1, 3
    call MPI_Irecv(b, 100, MPI_DOUBLE_PRECISION, left, step, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(a, 100, MPI_DOUBLE_PRECISION, right, step, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  end do
  call MPI_Send_init(a, 7, MPI_INTEGER, right, 9, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Recv_init(b, 7, MPI_INTEGER, left, 9, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Startall(2, requests, ierr)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  call MPI_Request_free(requests(1), ierr)
  call MPI_Request_free(requests(2), ierr)
  call MPI_Sendrecv(a, 5, MPI_REAL, right, 4, b, 5, MPI_REAL, left, 4, MPI_COMM_WORLD, seen, ierr)
  call MPI_Allreduce(MPI_IN_PLACE, a, 10, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, ierr)
  call MPI_Bcast(a, 5, MPI_DOUBLE_PRECISION, 0, half, ierr)
  call MPI_Comm_free(half, ierr)
  call MPI_Barrier(MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
end program recorded
