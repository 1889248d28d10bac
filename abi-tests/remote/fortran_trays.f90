! what: the module ompx_lib: persistent tasks, trays, a transfer, a reduction
! ours: ompx_* is Gangway's
! mode: link
! threads: 1,4
! expect-stderr: gangway: ompx_ptask_execute: the handle names nothing: freed, fired, or never made; this call changes nothing
include 'ompx_lib.f90'
include 'check.inc'
module procedures
  use, intrinsic :: iso_c_binding
  use ompx_lib
  implicit none
contains
  subroutine doubles(run, args, bytes) bind(c)
    type(c_ptr), value :: run, args
    integer(c_size_t), value :: bytes
    integer(c_size_t) :: size
    real(c_double), pointer :: x(:)
    call c_f_pointer(ompx_run_inout(run, 0_c_int32_t, size), x, [int(size / 8)])
    x = 2 * x + real(bytes, c_double)
    call c_f_pointer(ompx_run_out(run, 1_c_int32_t, ompx_double, 1_c_int64_t), x, [1])
    x = 7
  end subroutine
end module
program test
  use, intrinsic :: iso_c_binding
  use ompx_lib
  use procedures
  use check
  implicit none
  integer, parameter :: n = 3
  type(ompx_ptask_t) :: t(n)
  type(ompx_tray_t) :: trays(n)
  type(ompx_ptask_t) :: none
  real(c_double), target :: x(4) = [1d0, 2d0, 3d0, 4d0]
  integer(c_size_t) :: bytes
  integer(c_int64_t) :: kind
  integer :: i
  call check_eq('create', ompx_ptask_create(ompx_any_rank, n, t), 0)
  do i = 1, n
    trays(i) = ompx_tray(t(i), 0)
    call check_eq('set', ompx_ptask_set(t(i), c_funloc(doubles)), 0)
    call check_eq('write', ompx_tray_write(trays(i), ompx_double, 4_c_int64_t, c_loc(x)), 0)
  end do
  call check_eq('execute', ompx_ptask_execute(t(1), c_null_ptr, 0_c_size_t), 0)
  call check_eq('send_recv', ompx_tray_send_recv(trays(1), trays(2)), 0)
  call check_eq('execute', ompx_ptask_execute(t(2), c_null_ptr, 0_c_size_t), 0)
  call check_eq('reduce', ompx_tray_reduce(trays, n, ompx_tray(t(1), 5), ompx_double, ompx_sum, c_null_funptr), 0)
  call check_eq('size', ompx_tray_size(ompx_tray(t(1), 5), bytes, kind), 0)
  call check_eq('bytes', int(bytes), 32)
  call check_true('type', kind == ompx_double .and. ompx_entity(8_c_size_t) == 2048)
  call check_eq('read', ompx_tray_read(ompx_tray(t(1), 5), c_loc(x), bytes), 0)
  call check_true('sum', all(x == [7d0, 14d0, 21d0, 28d0]))
  call check_eq('wait', ompx_ptask_wait(t, n), 0)
  call check_eq('execute', ompx_ptask_execute(none, c_null_ptr, 0_c_size_t), -5)
  call check_eq('free_all', ompx_ptask_free_all(), 0)
  call check_end()
end program
