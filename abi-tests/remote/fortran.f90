! what: the module ompx_lib: functions invoked, futures, an event
! ours: ompx_* is Gangway's
! mode: link
! threads: 1,4
include 'ompx_lib.f90'
include 'check.inc'
module handlers
  use, intrinsic :: iso_c_binding
  use ompx_lib
  implicit none
contains
  subroutine square(args, bytes, result) bind(c)
    type(c_ptr), value :: args, result
    integer(c_size_t), value :: bytes
    integer(c_int64_t), pointer :: x
    integer(c_int64_t), target :: y
    integer(c_int) :: code
    call c_f_pointer(args, x)
    y = x * x + bytes - 8
    code = ompx_result_set(result, c_loc(y), 8_c_size_t)
  end subroutine
  subroutine all_there(data, bytes, parts, count) bind(c)
    type(c_ptr), value :: data, parts
    integer(c_size_t), value :: bytes, count
    type(ompx_future_t), pointer :: future
    type(ompx_part_t), pointer :: part(:)
    integer(c_int64_t), pointer :: x
    integer(c_int64_t), target :: total
    integer(c_int) :: code
    integer :: i
    call c_f_pointer(data, future)
    call c_f_pointer(parts, part, [count])
    total = bytes - 16
    do i = 1, int(count)
      call c_f_pointer(part(i)%bytes, x)
      total = total + x
    end do
    code = ompx_future_set(future, c_loc(total), 8_c_size_t)
  end subroutine
end module
program test
  use, intrinsic :: iso_c_binding
  use handlers
  use check
  implicit none
  type(ompx_future_t), target :: futures(100), done
  type(ompx_event_t) :: event
  integer(c_int64_t), target :: x, y
  integer(c_size_t) :: bytes
  integer :: i
  do i = 1, 100
    x = i
    call check_eq('invoke', ompx_invoke(0, c_funloc(square), c_loc(x), 8_c_size_t, c_loc(futures(i))), 0)
  end do
  do i = 1, 100
    call check_eq('wait', ompx_future_wait(futures(i)), 0)
    call check_eq('test', ompx_future_test(futures(i)), 1)
    call check_eq('size', ompx_future_size(futures(i), bytes), 0)
    call check_true('eight bytes', bytes == 8)
    call check_eq('get', ompx_future_get(futures(i), c_loc(y), 8_c_size_t), 0)
    call check_true('square', y == int(i, c_int64_t)**2)
    call check_eq('free', ompx_future_free(futures(i)), 0)
  end do
  call check_eq('create', ompx_future_create(done), 0)
  call check_eq('event', ompx_event_create(3, c_funloc(all_there), c_loc(done), 16_c_size_t, event), 0)
  do i = 0, 2
    x = 10**i
    call check_eq('satisfy', ompx_event_satisfy(event, merge(-1, i, i == 1), c_loc(x), 8_c_size_t), 0)
  end do
  call check_eq('get the sum', ompx_future_get(done, c_loc(y), 8_c_size_t), 0)
  call check_true('sum', y == 111)
  call check_eq('free it', ompx_future_free(done), 0)
  call check_end()
end program
