! what: declare reduction in Fortran, on @CONSTRUCT@
! each: CONSTRUCT ; OPEN ; CLOSE = parallel do ; parallel do ; end parallel do / do simd ; parallel do simd ; end parallel do simd / dynamic ; parallel do schedule(dynamic, 3) ; end parallel do
! each: KIND ; TYPE ; COMBINE ; INITIAL ; STEP ; WANT = widest ; integer ; omp_out = max(omp_out, omp_in) ; omp_priv = -1 ; x = max(x, mod(i * 7, 101)) ; 100 / sum ; real(8) ; omp_out = omp_out + omp_in ; omp_priv = 0 ; x = x + i ; 5050
! skip: flang it cannot lower the directive yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @TYPE@ :: x
  integer :: i
  !$omp declare reduction(join: @TYPE@: @COMBINE@) initializer(@INITIAL@)
  x = 0
  !$omp @OPEN@ reduction(join: x)
  do i = 1, 100
    @STEP@
  end do
  !$omp @CLOSE@
  call check_eq('value', int(x), @WANT@)
  call check_end()
end program
