! what: Fortran: declare target module variables and procedures, with updates
! offload: yes
! compilers: gfortran
! devices: 0,1,3
! threads: 4
! mode: preload
! ours: host devices
include 'check.inc'
module data
  implicit none
  integer, save :: counter = 3
  real(8), save :: table(5) = [1, 2, 3, 4, 5]
  !$omp declare target (counter, table)
contains
  integer function twice(x)
    !$omp declare target
    integer, intent(in) :: x
    twice = 2 * x + counter
  end function
end module
program main
  use check
  use omp_lib
  use data
  implicit none
  integer :: d, r
  do d = 0, omp_get_num_devices()
    counter = 10 + d
    table(5) = 50
    !$omp target update device(d) to(counter, table)
    !$omp target device(d) map(from: r)
    r = twice(int(table(5)))
    counter = -1
    !$omp end target
    call check_eq('function', r, 110 + d)
    !$omp target update device(d) from(counter)
    call check_eq('variable', counter, -1)
  end do
  call check_end()
end program
