! what: scan @KIND@(x) in Fortran on @CONSTRUCT@
! each: CONSTRUCT = parallel do / simd / parallel do simd
! each: KIND ; FIRST ; SECOND ; SHIFT = inclusive ; x = x + i ; seen(i) = x ; 0 / exclusive ; seen(i) = x ; x = x + i ; 1
! skip: flang it cannot lower the directive yet
! skip: gfortran<10 it comes with later compilers
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, x, seen(60)
  x = 0
  seen = -1
  !$omp @CONSTRUCT@ reduction(inscan, +: x)
  do i = 1, 60
    @FIRST@
    !$omp scan @KIND@(x)
    @SECOND@
  end do
  call check_true('prefixes', all(seen == [((i - @SHIFT@) * (i - @SHIFT@ + 1) / 2, i = 1, 60)]))
  call check_eq('total', x, 1830)
  call check_end()
end program
