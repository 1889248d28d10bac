! what: ordered under schedule(@SCHEDULE@) by @STEP@ in Fortran: in the order of the loop
! each: SCHEDULE = static / static, 2 / dynamic / dynamic, 3 / guided
! each: FIRST ; LAST ; STEP = 1 ; 40 ; 1 / 40 ; 1 ; -3
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, next, count
  next = @FIRST@
  count = 0
  !$omp parallel do ordered schedule(@SCHEDULE@)
  do i = @FIRST@, @LAST@, @STEP@
    !$omp ordered
    call check_eq('turn', i, next)
    next = next + @STEP@
    count = count + 1
    !$omp end ordered
  end do
  !$omp end parallel do
  call check_eq('all', count, (@LAST@ - @FIRST@) / @STEP@ + 1)
  call check_end()
end program
