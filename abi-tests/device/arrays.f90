! what: Fortran: arrays on the stack, allocatable ones, sections, and scalars go to the device and back
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
    call local(d, 20)
    call heap(d, 30)
  end do
  call check_end()
contains
  subroutine local(d, n)
    integer, intent(in) :: d, n
    integer :: a(n), x, on, i
    a = [(i, i = 1, n)]
    x = 3
    !$omp target device(d) map(tofrom: a, x) map(from: on)
    on = omp_get_device_num()
    x = x + a(n)
    a = a * 2
    !$omp end target
    call check_eq('where', on, d)
    call check_eq('scalar', x, 3 + n)
    call check_eq('array', sum(a), n * (n + 1))
    !$omp target device(d) map(tofrom: a(5:9))
    a(5:9) = 0
    !$omp end target
    call check_eq('section', sum(a), n * (n + 1) - 70)
  end subroutine
  subroutine heap(d, n)
    integer, intent(in) :: d, n
    real(8), allocatable :: v(:, :)
    real(8) :: s
    integer :: i
    allocate (v(n, 2))
    v = 1
    !$omp target enter data device(d) map(to: v)
    v(1, 1) = 100
    s = 0
    !$omp target device(d) map(tofrom: s)
    s = sum(v)
    v(:, 2) = 5
    !$omp end target
    if (d < omp_get_num_devices()) then
      call check_eq('copy', s, 2d0 * n)
      call check_eq('apart', v(1, 2), 1d0)
    else
      call check_eq('copy', s, 2d0 * n + 99)
    end if
    !$omp target update device(d) from(v(1:3, 2))
    call check_eq('update', v(1, 2), 5d0)
    v(1, 1) = 7
    !$omp target update device(d) to(v)
    s = 0
    !$omp target teams distribute parallel do device(d) map(tofrom: s) reduction(+: s)
    do i = 1, n
      s = s + v(i, 1)
    end do
    call check_eq('loop', s, 6d0 + n)
    !$omp target exit data device(d) map(from: v)
    call check_eq('again', v(1, 1), 7d0)
    deallocate (v)
  end subroutine
end program
