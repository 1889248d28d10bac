! what: taskloop reduction(@OP@) and task in_reduction(@OP@) in Fortran
! each: NAME ; OP ; STEP ; START = plus ; + ; x = x + i ; 3 / max ; max ; x = max(x, mod(i * 7, 31)) ; 2 / ieor ; ieor ; x = ieor(x, i * 5) ; 7
! each: HOW = taskloop / taskgroup
! skip: flang it cannot lower the clauses yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, x, want
  x = @START@
  do i = 1, 61
    @STEP@
  end do
  want = x
  x = @START@
  !$omp parallel shared(x)
  !$omp single
  if ('@HOW@' == 'taskloop') then
    !$omp taskloop reduction(@OP@:x) grainsize(5)
    do i = 1, 61
      @STEP@
    end do
  else
    !$omp taskgroup task_reduction(@OP@:x)
    do i = 1, 61
      !$omp task in_reduction(@OP@:x) firstprivate(i)
      @STEP@
      !$omp end task
    end do
    !$omp end taskgroup
  end if
  !$omp end single
  !$omp end parallel
  call check_eq('value', x, want)
  call check_end()
end program
