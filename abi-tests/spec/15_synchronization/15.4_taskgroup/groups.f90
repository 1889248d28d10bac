! what: @JOIN@ in Fortran waits for @WHOM@
! each: JOIN ; OPEN ; CLOSE ; WHOM ; LEAST = taskgroup ; taskgroup ; end taskgroup ; descendants ; 60 / taskwait ; flush ; taskwait ; children ; 30
! each: CLAUSE ; SKIP = untied ; flang / if(.true.) ; none / priority(2) ; flang
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen
  seen = 0
  !$omp parallel private(i) shared(seen)
  !$omp single
  !$omp @OPEN@
  do i = 1, 30
    !$omp task @CLAUSE@ shared(seen)
    !$omp task @CLAUSE@ shared(seen)
    !$omp atomic
    seen = seen + 1
    !$omp end task
    !$omp atomic
    seen = seen + 1
    !$omp end task
  end do
  !$omp @CLOSE@
  call check_true('waited', seen >= @LEAST@)
  !$omp end single
  !$omp end parallel
  call check_eq('all behind the region', seen, 60)
  call check_end()
end program
