! what: declare simd @CLAUSE@ in Fortran: the function in @LOOP@ and called alone
! each: CLAUSE = notinbranch / simdlen(4) uniform(y) / linear(x: 1) uniform(y)
! each: LOOP = simd / parallel do simd
! skip: flang it takes the directive in few places yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, a(70)
  !$omp @LOOP@
  do i = 1, 70
    a(i) = poly(i, 5)
  end do
  call check_true('all', all(a == [(i * i + 5, i = 1, 70)]))
  call check_eq('alone', poly(3, 1), 10)
  call check_end()
contains
  integer function poly(x, y)
    !$omp declare simd(poly) @CLAUSE@
    integer, value :: x, y
    poly = x * x + y
  end function
end program
