! what: do under schedule(@SCHEDULE@) from @FIRST@ to @LAST@ by @STEP@ with integer(@KIND@)
! each: SCHEDULE = static / static, 3 / dynamic, 2 / guided / runtime
! each: FIRST ; LAST ; STEP ; COUNT ; PEER = 1 ; 100 ; 1 ; 100 ; none / 100 ; -7 ; -3 ; 36 ; none / 5 ; 4 ; 1 ; 0 ; libomp
! peers: @PEER@ fails, because it divides by zero in an empty loop with chunks that flang does not guard
! each: KIND = 4 / 8
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(@KIND@) :: i, total, want
  integer :: count
  total = 0
  count = 0
  want = 0
  do i = @FIRST@, @LAST@, @STEP@
    want = want + i
  end do
  !$omp parallel do schedule(@SCHEDULE@) reduction(+:total, count)
  do i = @FIRST@, @LAST@, @STEP@
    total = total + i
    count = count + 1
  end do
  call check_eq('count', count, @COUNT@)
  call check_eq('total', int(total), int(want))
  call check_end()
end program
