! what: nothing in Fortran, @WHERE@
! each: WHERE ; OPEN ; CLOSE = outside ; continue ; continue / in a region ; !$omp parallel num_threads(3) ; !$omp end parallel
! compilers: gfortran
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @OPEN@
  !$omp nothing
  call check_true('goes on', omp_get_thread_num() < 3)
  @CLOSE@
  call check_end()
end program
