! what: cancel @WHAT@ in Fortran with OMP_CANCELLATION=@ON@
! each: WHAT ; OPEN ; CLOSE = parallel ; parallel shared(count) private(i) ; end parallel / do ; parallel do shared(count) ; end parallel do
! each: ON ; YES = true ; .true. / false ; .false.
! skip: flang it cannot lower the construct yet
! env: OMP_CANCELLATION=@ON@
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, count
  count = 0
  call check_eq('variable', omp_get_cancellation(), @YES@)
  !$omp @OPEN@
  do i = 1, 400
    !$omp atomic
    count = count + 1
    !$omp cancel @WHAT@ if(i >= 1)
    !$omp cancellation point @WHAT@
  end do
  !$omp @CLOSE@
  if (@YES@) then
    call check_true('stopped', count < 400)
  else
    call check_true('went on', count >= 400)
  end if
  call check_end()
end program
