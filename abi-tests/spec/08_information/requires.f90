! what: requires @CLAUSE@ in Fortran: the program is as before
! each: CLAUSE = atomic_default_mem_order(seq_cst) / atomic_default_mem_order(acq_rel) / dynamic_allocators
! compilers: gfortran
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  !$omp requires @CLAUSE@
  integer :: i, x
  x = 0
  !$omp parallel num_threads(4) shared(x)
  do i = 1, 100
    !$omp atomic
    x = x + 1
  end do
  !$omp end parallel
  call check_eq('x', x, 400)
  call check_end()
end program
