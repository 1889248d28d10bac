! what: do @CLAUSE@ of @COUNT@ iterations in Fortran: each once
! each: CLAUSE ; SKIP = order(concurrent) ; flang / schedule(monotonic: dynamic, 2) ; none / schedule(nonmonotonic: guided) ; none / collapse(1) ; none / schedule(static, 1) ; none / schedule(auto) ; none
! each: COUNT = 1 / 64 / 101
! skip: @SKIP@ every thread runs all iterations there
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(@COUNT@)
  seen = 0
  !$omp parallel shared(seen)
  !$omp do @CLAUSE@
  do i = 1, @COUNT@
    seen(i) = seen(i) + 1
  end do
  !$omp end do
  call check_true('all done behind the barrier', all(seen == 1))
  !$omp barrier
  !$omp do @CLAUSE@
  do i = 1, @COUNT@
    seen(i) = seen(i) + 1
  end do
  !$omp end do nowait
  !$omp end parallel
  call check_true('twice', all(seen == 2))
  call check_end()
end program
