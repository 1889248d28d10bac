! what: @CONSTRUCT@ @CLAUSE@ in Fortran: each iteration once
! each: CONSTRUCT ; BIND = parallel loop ; / teams loop ; / loop bind(parallel) ; / loop bind(thread) ;
! each: CLAUSE = collapse(1) / order(concurrent) / lastprivate(i)
! skip: flang it does not know the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(70)
  seen = 0
  !$omp @CONSTRUCT@ @CLAUSE@
  do i = 1, 70
    seen(i) = seen(i) + i
  end do
  call check_true('each once', all(seen == [(i, i = 1, 70)]))
  call check_end()
end program
