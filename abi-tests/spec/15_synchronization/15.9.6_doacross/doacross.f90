! what: ordered(2) with depend(sink) in Fortran under schedule(@SCHEDULE@)
! each: BACK ; SINK ; WANT = up ; depend(sink: i - 1, j) ; a(i - 1, j) / left ; depend(sink: i, j - 1) ; a(i, j - 1) / both ; depend(sink: i - 1, j) depend(sink: i, j - 1) ; max(a(i - 1, j), a(i, j - 1))
! each: SCHEDULE = static / static, 1 / dynamic
! skip: flang it cannot lower the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, j, a(0:20, 0:6)
  a = 0
  a(0, :) = 1
  a(:, 0) = 1
  !$omp parallel do ordered(2) schedule(@SCHEDULE@) private(j) shared(a)
  do i = 1, 20
    do j = 1, 6
      !$omp ordered @SINK@
      a(i, j) = @WANT@ + 1
      !$omp ordered depend(source)
    end do
  end do
  !$omp end parallel do
  do i = 1, 20
    do j = 1, 6
      call check_eq('value', a(i, j), @WANT@ + 1)
    end do
  end do
  call check_end()
end program
