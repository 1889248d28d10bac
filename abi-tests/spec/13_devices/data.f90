! what: @DIRECTIVE@ around target in Fortran on the host
! each: DIRECTIVE ; OPEN ; CLOSE = target data ; target data map(tofrom: a) ; end target data / enter and exit ; target enter data map(to: a) ; target exit data map(from: a) / update ; target update to(a) ; target update from(a) / nowait ; target enter data map(to: a) nowait ; target exit data map(from: a) nowait
! each: CLAUSE = map(tofrom: a) / map(alloc: a) / map(always, tofrom: a)
! skip: flang what it makes of target needs libomptarget
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, a(100)
  logical :: host
  host = .false.
  a = [(i, i = 1, 100)]
  !$omp @OPEN@
  !$omp taskwait
  !$omp target @CLAUSE@ map(from: host)
  host = omp_is_initial_device()
  a = a + 5
  !$omp end target
  !$omp @CLOSE@
  !$omp taskwait
  call check_true('on the host', host)
  call check_true('a', all(a == [(i + 5, i = 1, 100)]))
  call check_end()
end program
