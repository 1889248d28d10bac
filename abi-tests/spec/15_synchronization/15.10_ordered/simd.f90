! what: ordered simd in @LOOP@ in Fortran
! each: LOOP = simd / do simd / parallel do simd
! skip: flang it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i
  integer, save :: seen(60) = 0
  !$omp @LOOP@
  do i = 1, 60
    !$omp ordered simd
    seen(i) = seen(i) + i
    !$omp end ordered
  end do
  call check_true('each once', all(seen == [(i, i = 1, 60)]))
  call check_end()
end program
