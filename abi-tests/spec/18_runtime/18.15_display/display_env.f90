! what: omp_display_env(@VERBOSE@) in Fortran prints the control variables on stderr
! each: VERBOSE = .false. / .true.
! threads: 3
! expect-stderr: OPENMP DISPLAY ENVIRONMENT BEGIN*_OPENMP*OMP_*OPENMP DISPLAY ENVIRONMENT END
! expect-stderr: OMP_NUM_THREADS*3
! skip: flang its module does not have the routine
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: count
  count = 0
  call omp_display_env(@VERBOSE@)
  !$omp parallel reduction(+:count)
  count = count + 1
  !$omp end parallel
  call check_eq('count', count, 3)
  call check_end()
end program
