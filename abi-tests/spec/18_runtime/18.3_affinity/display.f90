! what: omp_display_affinity in Fortran prints a line for the calling thread, @HOW@
! each: HOW ; SET ; ARGUMENT = by its argument ; unused ; 'me %n of %N' / by the variable ; me %n of %N ; ''
! threads: 3
! expect-stdout: me 1 of 3
! expect-stdout: me 2 of 3
! expect-stdout: me 0 of 3
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  character(40) :: text
  call omp_set_affinity_format('@SET@')
  !$omp parallel
  !$omp critical
  call omp_display_affinity(@ARGUMENT@)
  !$omp end critical
  !$omp end parallel
  call check_eq('length', int(omp_get_affinity_format(text)), len('@SET@'))
  call check_end()
end program
