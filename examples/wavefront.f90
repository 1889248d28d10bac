! A wave through a square: each point needs the one above and the one to the left. A doacross loop says so (`ordered(2)`),
! and rows run one behind the other.
program wavefront
  use omp_lib
  implicit none
  integer, parameter :: n = 60
  integer(8) :: paths(0:n, 0:n)
  integer :: i, j
  paths = 0
  paths(0, :) = 1
  paths(:, 0) = 1
  !$omp parallel do ordered(2) schedule(static, 1)
  do i = 1, n
     do j = 1, n
        !$omp ordered depend(sink: i - 1, j) depend(sink: i, j - 1)
        paths(i, j) = mod(paths(i - 1, j) + paths(i, j - 1), 1000000007_8)
        !$omp ordered depend(source)
     end do
  end do
  !$omp end parallel do
  print '(a, i0)', 'paths modulo 1000000007: ', paths(n, n)
  do i = 1, n
     do j = 1, n
        if (paths(i, j) /= mod(paths(i - 1, j) + paths(i, j - 1), 1000000007_8)) stop 1
     end do
  end do
end program wavefront
