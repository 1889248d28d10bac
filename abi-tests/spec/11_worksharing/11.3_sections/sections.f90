! what: @CONSTRUCT@ @CLAUSE@ in Fortran: each section once
! each: CONSTRUCT ; OPEN ; INNER ; END ; CLOSE = sections ; parallel ; sections ; end sections ; end parallel / nowait ; parallel ; sections ; end sections nowait ; end parallel / parallel sections ; taskgroup ; parallel sections ; end parallel sections ; end taskgroup
! each: CLAUSE = lastprivate(last) / private(last) / firstprivate(last) / reduction(+:last)
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: seen(4), last
  seen = 0
  last = 0
  !$omp @OPEN@
  !$omp @INNER@ @CLAUSE@
  !$omp section
  last = 1
  seen(1) = seen(1) + 1
  !$omp section
  last = 2
  seen(2) = seen(2) + 1
  !$omp section
  last = 3
  seen(3) = seen(3) + 1
  !$omp section
  last = 4
  seen(4) = seen(4) + 1
  !$omp @END@
  !$omp @CLOSE@
  call check_true('each once', all(seen == 1))
  if ('@CLAUSE@' == 'lastprivate(last)') call check_eq('last', last, 4)
  if ('@CLAUSE@' == 'private(last)' .or. '@CLAUSE@' == 'firstprivate(last)') call check_eq('kept', last, 0)
  call check_end()
end program
