! what: error at(execution) severity(@SEVERITY@) in Fortran, @WHERE@: the text is on stderr, and the program @ENDING@
! each: SEVERITY ; ENDING ; STATUS = warning ; goes on ; 0 / fatal ; ends ; failure
! each: WHERE ; OPEN ; CLOSE = outside ; continue ; continue / in a region ; !$omp parallel num_threads(1) ; !$omp end parallel / in a task ; !$omp task if(.false.) ; !$omp end task
! expect-exit: @STATUS@
! expect-stderr: mind the gap
! compilers: gfortran
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer, save :: after = 0
  @OPEN@
  !$omp error at(execution) severity(@SEVERITY@) message("mind the gap")
  after = 1
  @CLOSE@
  call check_eq('after', after, 1)
  call check_end()
end program
