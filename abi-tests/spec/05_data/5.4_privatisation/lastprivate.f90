! what: lastprivate of @TYPE@ on @CONSTRUCT@ schedule(@SCHEDULE@) in Fortran
! each: CONSTRUCT = do / do simd
! each: TYPE ; GET = integer ; v / real(8) ; int(v) / integer(8) ; int(v)
! each: SCHEDULE = static / static, 3 / dynamic, 2 / guided
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @TYPE@ :: v
  integer :: i
  v = -1
  !$omp parallel do lastprivate(v) schedule(@SCHEDULE@)
  do i = 1, 77
    v = 2 * i
  end do
  call check_eq('the last one''s', @GET@, 154)
  !$omp parallel
  !$omp @CONSTRUCT@ lastprivate(v) schedule(@SCHEDULE@)
  do i = 1, 33
    v = 3 * i
  end do
  !$omp end @CONSTRUCT@
  call check_eq('behind the barrier', @GET@, 99)
  !$omp end parallel
  call check_end()
end program
