! what: Fortran: derived types, firstprivate, private and nested data regions
! offload: yes
! compilers: gfortran
! devices: 0,1,3
! threads: 4
! mode: preload
! ours: host devices
include 'check.inc'
program main
  use check
  use omp_lib
  implicit none
  type t
    integer :: n
    real(8) :: v(4)
  end type
  integer :: d
  do d = 0, omp_get_num_devices()
    call run(d)
  end do
  call check_end()
contains
  subroutine run(d)
    integer, intent(in) :: d
    type(t) :: x
    integer :: f, p, seen
    logical :: apart
    apart = d < omp_get_num_devices()
    x%n = 4
    x%v = 1
    f = 5
    p = 6
    !$omp target data device(d) map(to: x)
    !$omp target device(d) map(tofrom: x) firstprivate(f) private(p) map(from: seen)
    p = 1
    f = f + p
    seen = f
    x%v(x%n) = f
    !$omp end target
    if (apart) call check_eq('held', x%v(4), 1d0)
    !$omp target update device(d) from(x)
    !$omp end target data
    call check_eq('updated', x%v(4), 6d0)
    call check_eq('copy', seen, 6)
    call check_eq('original', f + p, 11)
    !$omp target device(d) map(tofrom: x%v) map(to: x%n)
    x%v(1) = x%n * 10
    !$omp end target
    call check_eq('member', x%v(1), 40d0)
  end subroutine
end program
