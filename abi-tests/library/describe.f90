! what: ompx_describe in Fortran: its size, and lines of which the first is the version
! ours: ompx_* is Gangway's
! mode: link
include 'ompx_lib.f90'
include 'check.inc'
program main
  use, intrinsic :: iso_c_binding, only: c_char, c_loc, c_null_char, c_null_ptr, c_size_t
  use check
  use ompx_lib
  implicit none
  character(kind=c_char, len=:), allocatable, target :: text
  integer(c_size_t) :: bytes
  bytes = ompx_describe(c_null_ptr, 0_c_size_t)
  allocate(character(kind=c_char, len=bytes + 1) :: text)
  call check_true('size again', ompx_describe(c_loc(text), bytes + 1) == bytes)
  call check_true('first line', text(1:8) == 'version=')
  call check_true('workers', index(text, new_line('a') // 'workers=') > 0)
  call check_true('end', text(bytes + 1:bytes + 1) == c_null_char)
  call check_end()
end program
