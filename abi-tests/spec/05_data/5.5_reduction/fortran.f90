! what: reduction(@OP@) of a scalar and an array in Fortran
! each: NAME ; OP ; STEP ; START = plus ; + ; x = x + i ; 3 / times ; * ; x = x * (1 + i/60) ; 1 / max ; max ; x = max(x, mod(i * 7, 31)) ; 2 / min ; min ; x = min(x, 40 - i) ; 99 / iand ; iand ; x = iand(x, 1023 - i) ; 1023 / ior ; ior ; x = ior(x, i) ; 256 / ieor ; ieor ; x = ieor(x, i * 5) ; 7
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
  !$omp parallel do reduction(@OP@:x) schedule(dynamic, 3)
  do i = 1, 61
    @STEP@
  end do
  call check_eq('value', x, want)
  call check_end()
end program
