! what: Fortran: target nowait with dependences, in order with tasks
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
  integer :: d
  do d = 0, omp_get_num_devices()
    call run(d)
  end do
  call check_end()
contains
  subroutine run(d)
    integer, intent(in) :: d
    integer :: x, i
    x = 1
    !$omp parallel num_threads(3)
    !$omp single
    do i = 1, 10
      !$omp target nowait device(d) depend(inout: x) map(tofrom: x) firstprivate(i)
      x = x + i
      !$omp end target
      !$omp task depend(inout: x) shared(x)
      x = x * 2
      !$omp end task
    end do
    !$omp end single
    !$omp end parallel
    call check_eq('chain', x, expected())
  end subroutine
  integer function expected()
    integer :: i
    expected = 1
    do i = 1, 10
      expected = (expected + i) * 2
    end do
  end function
end program
