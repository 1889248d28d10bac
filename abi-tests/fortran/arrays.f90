! what: automatic and allocatable arrays private, firstprivate and shared; workshare
! env: OMP_STACKSIZE=16M
! skip: flang has no workshare in version 19
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  real(8), allocatable :: a(:), b(:)
  real(8) :: total
  integer :: i, n
  n = omp_get_max_threads()
  allocate (a(1000), b(50))
  a = 2
  b = 1
  !$omp parallel workshare
  a = a * 3
  !$omp end parallel workshare
  total = 0
  !$omp parallel firstprivate(b) reduction(+:total)
  call automatic(200000, total)
  b(1) = b(1) + omp_get_thread_num()
  total = total + b(1)
  !$omp end parallel
  call check_eq('sum', sum(a), 6000d0)
  call check_eq('total', total, 200001d0 * n + n * (n - 1) / 2)
  call check_eq('b', b(1), 1d0)
  call check_end()
contains
  subroutine automatic(m, total)
    integer, intent(in) :: m
    real(8), intent(inout) :: total
    real(8) :: local(m)
    local = 1
    total = total + sum(local)
  end subroutine
end program
