! what: do loops under every schedule, integer(8), negative steps, collapse, lastprivate, ordered
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, j, last, next
  integer(8) :: k, total
  integer :: seen(1000)
  seen = 0
  total = 0
  !$omp parallel do schedule(static, 3)
  do i = 1, 1000
    seen(i) = seen(i) + 1
  end do
  !$omp parallel do schedule(dynamic, 7) reduction(+:total)
  do k = 1000_8, 1_8, -1_8
    seen(k) = seen(k) + 1
    total = total + k
  end do
  !$omp parallel do schedule(guided) lastprivate(last)
  do i = 1, 999, 2
    seen(i) = seen(i) + 1
    last = i
  end do
  !$omp parallel do schedule(runtime) collapse(2)
  do i = 0, 9
    do j = 1, 100
      seen(100 * i + j) = seen(100 * i + j) + 1
    end do
  end do
  next = 1
  !$omp parallel do ordered schedule(dynamic)
  do i = 1, 100
    !$omp ordered
    call check_eq('order', next, i)
    next = i + 1
    !$omp end ordered
  end do
  call check_eq('total', total, 500500_8)
  call check_eq('last', last, 999)
  do i = 1, 1000
    call check_eq('seen', seen(i), 3 + mod(i, 2))
  end do
  !$omp parallel do
  do i = 5, 4
    seen(i) = -1
  end do
  call check_eq('empty', seen(5), 4)
  call check_end()
end program
