! what: critical @NAME@ in Fortran excludes
! each: NAME ; FIRST ; SECOND ; END = without a name ; ; ; / one name ; (here) ; (here) ; (here) / with a hint ; (here) hint(omp_sync_hint_contended) ; (here) hint(omp_sync_hint_contended) ; (here)
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, x, n
  n = omp_get_max_threads()
  x = 0
  !$omp parallel private(i) shared(x)
  do i = 1, 100
    !$omp critical @FIRST@
    x = x + 1
    !$omp end critical @END@
    !$omp critical @SECOND@
    x = x + 1
    !$omp end critical @END@
  end do
  !$omp end parallel
  call check_eq('x', x, 200 * n)
  call check_end()
end program
