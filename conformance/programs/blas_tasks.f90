! A tiled Cholesky factorization: every tile operation is a task with dependences that calls OpenBLAS.
! Argument: number of tiles along an edge.
program blas_tasks
  use omp_lib
  implicit none
  interface
    subroutine report_runtime() bind(c)
    end subroutine
  end interface
  integer, parameter :: nb = 64
  integer :: tiles, n
  character(len=16) :: text
  double precision, allocatable :: a(:, :), original(:, :), product(:, :)

  text = '6'
  if (command_argument_count() > 0) call get_command_argument(1, text)
  read (text, *) tiles
  n = tiles*nb
  allocate (a(n, n), original(n, n), product(n, n))
  call fill(original)
  call report_runtime()
  a = original
  call factor(a)
  call clear_upper(a)
  call dgemm('N', 'T', n, n, n, 1d0, a, n, a, n, 0d0, product, n)
  print '(a, 2es22.12)', 'factor ', sum(abs(a)), a(n, n)
  print '(a, l2)', 'residual small', maxval(abs(product - original)) < 1d-8*n

contains

  subroutine fill(m)
    double precision, intent(out) :: m(:, :)
    integer :: i, j
    do j = 1, n
      do i = 1, n
        m(i, j) = 1d0/(1d0 + abs(i - j)) + merge(2d0*n**0.25, 0d0, i == j)
      end do
    end do
  end subroutine

  subroutine clear_upper(m)
    double precision, intent(inout) :: m(:, :)
    integer :: j
    do j = 2, n
      m(1:j - 1, j) = 0
    end do
  end subroutine

  subroutine factor(m)
    double precision, intent(inout), target :: m(n, n)
    integer :: i, j, k
    integer :: mark(0:tiles, 0:tiles)
    mark = 0
    !$omp parallel
    !$omp single
    do k = 0, tiles - 1
      !$omp task depend(inout: mark(k, k)) firstprivate(k) priority(3)
      call diagonal(m, k)
      !$omp end task
      do i = k + 1, tiles - 1
        !$omp task depend(in: mark(k, k)) depend(inout: mark(i, k)) firstprivate(i, k)
        call dtrsm('R', 'L', 'T', 'N', nb, nb, 1d0, m(at(k), at(k)), n, m(at(i), at(k)), n)
        !$omp end task
      end do
      do i = k + 1, tiles - 1
        !$omp task depend(in: mark(i, k)) depend(inout: mark(i, i)) firstprivate(i, k)
        call dsyrk('L', 'N', nb, nb, -1d0, m(at(i), at(k)), n, 1d0, m(at(i), at(i)), n)
        !$omp end task
        do j = k + 1, i - 1
          !$omp task depend(in: mark(i, k), mark(j, k)) depend(inout: mark(i, j)) firstprivate(i, j, k)
          call dgemm('N', 'T', nb, nb, nb, -1d0, m(at(i), at(k)), n, m(at(j), at(k)), n, 1d0, m(at(i), at(j)), n)
          !$omp end task
        end do
      end do
    end do
    !$omp end single
    !$omp end parallel
  end subroutine

  subroutine diagonal(m, k)
    double precision, intent(inout) :: m(n, n)
    integer, intent(in) :: k
    integer :: info
    call dpotrf('L', nb, m(at(k), at(k)), n, info)
    if (info /= 0) print *, 'dpotrf failed at tile', k, info
  end subroutine

  pure integer function at(tile)
    integer, intent(in) :: tile
    at = tile*nb + 1
  end function
end program
