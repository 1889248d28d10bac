! what: a message by flag in Fortran, made visible by @WAY@
! each: WAY ; FLUSH = flush ; !$omp flush / flush of a list ; !$omp flush (message, flag) / acquire and release ; !$omp flush acq_rel
! threads: 2,3,8
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: message, flag, seen
  message = 0
  flag = 0
  !$omp parallel shared(message, flag) private(seen) num_threads(2)
  if (omp_get_num_threads() == 2) then
    if (omp_get_thread_num() == 0) then
      message = 42
      @FLUSH@
      !$omp atomic write
      flag = 1
    else
      seen = 0
      do while (seen == 0)
        !$omp atomic read
        seen = flag
        !$omp taskyield
      end do
      @FLUSH@
      call check_eq('message', message, 42)
    end if
  end if
  !$omp end parallel
  call check_eq('sent', flag, 1)
  call check_end()
end program
