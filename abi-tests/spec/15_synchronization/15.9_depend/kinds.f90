! what: tasks with depend(@FIRST@) before depend(@SECOND@) in Fortran
! each: NAME ; FIRST ; SECOND ; ORDER ; NO = flow ; out ; in ; 1 ; none / anti ; in ; out ; 1 ; none / both ; inout ; inout ; 1 ; none / output ; out ; out ; 1 ; none / mutex ; mutexinoutset ; in ; 1 ; flang / none ; in ; in ; 0 ; none
! each: WHAT ; LIST ; SKIP = a scalar ; x ; none / an element ; a(3) ; flang / a section ; a(2:4) ; flang
! skip: @NO@ it cannot lower the modifier yet
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: x, a(5), step, i
  x = 0
  a = 0
  step = 0
  !$omp parallel shared(x, a, step) private(i)
  !$omp single
  do i = 1, 20
    step = 0
    !$omp task depend(@FIRST@: @LIST@) shared(x, a, step)
    !$omp atomic
    step = step + 1
    !$omp end task
    !$omp task depend(@SECOND@: @LIST@) shared(x, a, step)
    if (@ORDER@ == 1) call check_eq('the first is done', step, 1)
    !$omp atomic
    step = step + 1
    !$omp end task
    !$omp taskwait
    call check_eq('both', step, 2)
  end do
  !$omp end single
  !$omp end parallel
  call check_end()
end program
