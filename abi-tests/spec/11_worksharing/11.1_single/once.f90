! what: single @CLAUSE@ @NOWAIT@ in Fortran: one thread a round, @RULE@
! each: CLAUSE ; BEFORE = plain ; / private ; private(x) / firstprivate ; firstprivate(x)
! each: NOWAIT ; END ; RULE = nowait ; nowait ; nobody waits / waiting ; ; all wait at its end
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: x, round, runs, n
  x = 5
  runs = 0
  n = 20
  !$omp parallel private(round) shared(runs)
  do round = 1, n
    !$omp single @BEFORE@
    !$omp atomic
    runs = runs + 1
    !$omp end single @END@
    if ('@NOWAIT@' == 'waiting') then
      call check_true('at least so many', runs >= round)
    end if
  end do
  !$omp end parallel
  call check_eq('once a round', runs, n)
  call check_eq('kept', x, 5)
  call check_end()
end program
