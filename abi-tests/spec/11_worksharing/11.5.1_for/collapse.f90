! what: do collapse(@DEPTH@) schedule(@SCHEDULE@) in Fortran: each combination once, lastprivate from the last
! each: DEPTH = 2 / 3
! each: SCHEDULE = static / static, 3 / dynamic / guided, 2
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, j, k, last, seen(4, 5, 6)
  seen = 0
  last = 0
  !$omp parallel do collapse(@DEPTH@) schedule(@SCHEDULE@) lastprivate(last) private(k) shared(seen)
  do i = 1, 4
    do j = 5, 1, -1
      do k = 1, 6
        seen(i, j, k) = seen(i, j, k) + 1
        last = 100 * i + 10 * j + k
      end do
    end do
  end do
  !$omp end parallel do
  call check_true('each once', all(seen == 1))
  call check_eq('last', last, 416)
  call check_end()
end program
