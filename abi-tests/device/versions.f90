! what: the module ompx_lib: tasks with versions, of which one runs
! ours: ompx_* is Gangway's
! mode: link
! threads: 1,4
! expect-stderr: *
include 'ompx_lib.f90'
include 'check.inc'
module steps
  use, intrinsic :: iso_c_binding
  use omp_lib
  use ompx_lib
  implicit none
  type, bind(c) :: step_t
    type(c_ptr) :: x
    integer(c_long) :: by
  end type
contains
  integer(c_int) function host_step(device, stream, args) bind(c)
    integer(c_int), value :: device
    type(c_ptr), value :: stream, args
    type(step_t), pointer :: step
    integer(c_long), pointer :: x
    call c_f_pointer(args, step)
    call c_f_pointer(step%x, x)
    x = 3 * x + step%by
    host_step = merge(0, 9, device == omp_get_initial_device() .and. .not. c_associated(stream))
  end function
end module
program test
  use steps
  use check
  implicit none
  integer(c_long), target :: x
  integer(c_long) :: model
  integer(c_size_t), target :: sizes(1)
  type(ompx_access_t), target :: accesses(1)
  type(ompx_versions_t) :: versions, none
  type(ompx_future_t), target :: future
  type(step_t), target :: step
  type(c_ptr) :: told
  integer :: i, code
  x = 1
  model = 1
  sizes = c_sizeof(x)
  accesses(1) = ompx_access_t(c_loc(x), ompx_inout)
  versions%host = c_funloc(host_step)
  versions%sizes = c_loc(sizes)
  !$omp parallel
  !$omp single
  do i = 1, 20
    step = step_t(c_loc(x), int(i, c_long))
    told = c_null_ptr
    if (i == 20) told = c_loc(future)
    code = ompx_task_versions(omp_get_initial_device(), versions, c_loc(step), c_sizeof(step), c_loc(accesses), 1, told)
    call check_eq('task', code, 0)
  end do
  call check_eq('wait', ompx_future_wait(future), 0)
  !$omp end single
  !$omp end parallel
  do i = 1, 20
    model = 3 * model + i
  end do
  call check_eq('x', int(x, 8), int(model, 8))
  call check_eq('future', ompx_future_free(future), 0)
  call check_true('size', versions%size == c_sizeof(versions))
  code = ompx_task_versions(omp_get_initial_device(), none, c_null_ptr, 0_c_size_t, c_null_ptr, 0, c_null_ptr)
  call check_eq('no version', code, -2)
  call check_end()
end program
