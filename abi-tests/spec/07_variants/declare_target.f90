! what: declare target in Fortran: function and variable in @WHERE@ on the host
! each: WHERE ; OPEN ; CLOSE = a target region ; target ; end target / a league ; target teams num_teams(1) ; end target teams / a region of it ; target parallel num_threads(1) ; end target parallel
! skip: flang what it makes of target needs libomptarget
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer, save :: counter = 3
  integer :: got
  !$omp declare target(counter)
  got = 0
  !$omp @OPEN@ map(tofrom: got)
  got = next()
  !$omp @CLOSE@
  call check_eq('got', got, 4)
  !$omp target update from(counter)
  call check_eq('counter', counter, 4)
  call check_end()
contains
  integer function next()
    !$omp declare target
    counter = counter + 1
    next = counter
  end function
end program
