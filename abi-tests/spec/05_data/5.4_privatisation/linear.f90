! what: linear(v: @STEP@) on @CONSTRUCT@ in Fortran
! each: CONSTRUCT = simd / do simd / parallel do / parallel do simd
! each: STEP = 1 / 3 / -2
! skip: flang it cannot lower the clause there yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, v, seen(64)
  v = 10
  seen = 0
  !$omp @CONSTRUCT@ linear(v: @STEP@)
  do i = 1, 64
    seen(i) = v
    v = v + @STEP@
  end do
  call check_true('values', all(seen == [(10 + (@STEP@) * (i - 1), i = 1, 64)]))
  call check_eq('last', v, 10 + (@STEP@) * 64)
  call check_end()
end program
