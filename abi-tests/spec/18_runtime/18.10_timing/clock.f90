! what: omp_get_wtime in Fortran goes with the clock, never back, @WHERE@
! each: WHERE ; OPEN ; CLOSE = outside ; continue ; continue / in a region ; !$omp parallel num_threads(3) private(start, last, next, i) ; !$omp end parallel
! each: TURNS = 10 / 2000
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  real(8) :: start, last, next
  integer :: i
  integer(8) :: before, after, rate
  call check_true('tick', omp_get_wtick() > 0 .and. omp_get_wtick() <= 1d-3)
  call system_clock(before, rate)
  @OPEN@
  start = omp_get_wtime()
  last = start
  do i = 1, @TURNS@
    next = omp_get_wtime()
    call check_true('never back', next >= last)
    last = next
  end do
  call check_true('seconds', last - start < 20)
  @CLOSE@
  call system_clock(after)
  last = omp_get_wtime()
  do while (omp_get_wtime() - last < 0.02d0)
  end do
  call system_clock(before)
  call check_true('as the clock', before - after >= int(0.019d0 * rate, 8))
  call check_end()
end program
