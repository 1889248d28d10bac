! what: threadprivate of a @KIND@ in Fortran: its values stay from region to region; copyin @COPY@
! each: KIND ; DECLARE ; NAME = common block ; common /cells/ cell ; /cells/ / saved variable ; save :: cell ; cell
! each: COPY ; CLAUSE ; START = of all ; copyin(@NAME@) ; 5 / left out ; ; 0
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: cell, n, total
  @DECLARE@
  !$omp threadprivate(@NAME@)
  call omp_set_dynamic(.false.)
  n = omp_get_max_threads()
  !$omp parallel
  cell = 0
  !$omp end parallel
  cell = 5
  total = 0
  !$omp parallel @CLAUSE@ reduction(+:total)
  if (omp_get_thread_num() > 0) call check_eq('start', cell, @START@)
  cell = cell + 100 * omp_get_thread_num()
  total = 1
  !$omp end parallel
  call check_eq('all', total, n)
  !$omp parallel
  if (omp_get_thread_num() > 0) call check_eq('kept', cell, @START@ + 100 * omp_get_thread_num())
  !$omp end parallel
  call check_eq('mine', cell, 5)
  call check_end()
end program
