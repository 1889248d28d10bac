! what: @CONSTRUCT@ in Fortran is its parts
! each: CONSTRUCT ; SKIP = parallel masked ; none / parallel master ; flang
! each: CLAUSE = num_threads(3) / shared(runs)
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: runs
  runs = 0
  !$omp @CONSTRUCT@ @CLAUSE@
  call check_eq('who', omp_get_thread_num(), 0)
  runs = runs + 1
  !$omp end @CONSTRUCT@
  call check_eq('once', runs, 1)
  call check_end()
end program
