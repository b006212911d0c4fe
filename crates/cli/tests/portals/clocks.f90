! Clocks, units and the environment of Fortran: each rank's own, in simulated time.
program clocks
  use iso_c_binding
  implicit none
  interface
    function pmi_init(spawned) bind(c, name="PMI_Init") result(code)
      import; integer(c_int) :: spawned, code
    end function
    function pmi_get_rank(rank) bind(c, name="PMI_Get_rank") result(code)
      import; integer(c_int) :: rank, code
    end function
    function pmi_barrier() bind(c, name="PMI_Barrier") result(code)
      import; integer(c_int) :: code
    end function
    function usleep(us) bind(c, name="usleep") result(code)
      import; integer(c_int), value :: us
      integer(c_int) :: code
    end function
  end interface
  integer(c_int) :: rank, code, spawned
  integer(8) :: before, after, rate
  real :: first, second
  character(64) :: name

  code = pmi_init(spawned)
  code = pmi_get_rank(rank)
  write (name, '(a,i0,a)') '/tmp/netloom-unit-', rank, '.txt'
  open (unit=10, file=trim(name), status='replace')
  call system_clock(before, rate)
  call cpu_time(first)
  code = usleep(2500)
  call system_clock(after)
  call cpu_time(second)
  if ((after - before) * 1000000 / rate /= 2500) error stop 2
  if (abs(second - first - 0.0025) > 1e-5) error stop 3
  code = pmi_barrier()
  write (10, '(i0)') rank
  code = pmi_barrier()
  rewind (10)
  read (10, *) spawned
  if (spawned /= rank) error stop 4
  close (10, status='delete')
  if (command_argument_count() /= 1) error stop 5
  print '(a,i0)', 'clocks of rank ', rank
end program
