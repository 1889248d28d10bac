! what: scope @CLAUSE@ @NOWAIT@ in Fortran: every thread runs it, the reduction is there after the barrier
! each: CLAUSE ; X = reduction(+:total) ; 1 / reduction(+:total) private(x) ; 0
! each: NOWAIT ; END = waiting ; / nowait ; nowait
! skip: flang it does not know the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: total, x, n
  n = omp_get_max_threads()
  total = 10
  x = 7
  !$omp parallel shared(total)
  !$omp scope @CLAUSE@
  x = merge(7, 9, @X@ == 1)
  total = total + omp_get_thread_num() + 1
  !$omp end scope @END@
  !$omp barrier
  call check_eq('total', total, 10 + n * (n + 1) / 2)
  !$omp end parallel
  call check_eq('x', x, 7)
  call check_end()
end program
