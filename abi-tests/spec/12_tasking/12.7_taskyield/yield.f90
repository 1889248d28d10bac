! what: taskyield in a @KIND@ task in Fortran lets another thread go on
! each: KIND ; CLAUSE = tied ; / final ; final(.true.)
! each: THREADS = 2 / 3
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: flag, ended, seen
  flag = 0
  ended = 0
  !$omp parallel num_threads(@THREADS@) shared(flag, ended)
  if (omp_get_thread_num() == 1) then
    !$omp task @CLAUSE@ if(.false.) shared(flag, ended) private(seen)
    seen = 0
    do while (seen == 0)
      !$omp taskyield
      !$omp atomic read
      seen = flag
    end do
    ended = 1
    !$omp end task
  end if
  if (omp_get_thread_num() == 0) then
    !$omp taskyield
    !$omp atomic write
    flag = 1
  end if
  !$omp end parallel
  call check_eq('ended', ended, 1)
  call check_end()
end program
