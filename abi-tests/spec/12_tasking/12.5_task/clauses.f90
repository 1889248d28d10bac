! what: task @CLAUSE@ in Fortran: it runs once, with the values of when it was made
! each: CLAUSE = untied / mergeable / if(i > 5) / final(i > 5) / priority(i) / default(firstprivate) / depend(inout: chain) / depend(out: kept(i))
! each: WHO = single / master
! skip: flang<20 it reads firstprivate of a task when it runs, not when it is created
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, chain, kept(30), runs
  kept = 0
  runs = 0
  chain = 0
  !$omp parallel private(i) shared(kept, runs, chain)
  !$omp @WHO@
  do i = 1, 30
    !$omp task @CLAUSE@ shared(kept, runs, chain) firstprivate(i)
    kept(i) = kept(i) + i
    !$omp atomic
    runs = runs + 1
    !$omp end task
    !$omp taskyield
  end do
  !$omp taskwait
  call check_eq('all before taskwait returns', runs, 30)
  !$omp end @WHO@
  !$omp end parallel
  call check_true('each its own', all(kept == [(i, i = 1, 30)]))
  call check_end()
end program
