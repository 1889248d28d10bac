! what: the module ompx_lib: counters by the C interface and by the Fortran name, gang scheduling around a region
! ours: ompx_* is Gangway's
! mode: link
! threads: 1,4
include 'ompx_lib.f90'
include 'check.inc'
program test
  use, intrinsic :: iso_c_binding, only: c_size_t
  use omp_lib
  use ompx_lib
  use check
  implicit none
  interface
    integer(c_size_t) function by_name(out, size) bind(c, name='ompx_get_counters_')
      import :: c_size_t, ompx_counters_t
      type(ompx_counters_t), intent(inout) :: out
      integer(c_size_t), intent(in) :: size
    end function
    subroutine set_by_name() bind(c, name='ompx_set_gang_sched_')
    end subroutine
    subroutine reset_by_name() bind(c, name='ompx_reset_gang_sched_')
    end subroutine
  end interface
  type(ompx_counters_t) :: before, after
  integer(c_size_t) :: size
  integer :: n
  size = storage_size(before) / 8
  call check_true('size', ompx_get_counters(before, size) == size)
  call check_true('size of the Fortran name', by_name(after, size) == size)
  call check_true('both the same', before%regions == after%regions)
  n = 0
  call ompx_set_gang_sched()
  !$omp parallel reduction(+:n)
  n = n + 1
  call ompx_reset_gang_sched()
  call set_by_name()
  !$omp end parallel
  call reset_by_name()
  call check_eq('threads', n, omp_get_max_threads())
  call check_true('size again', ompx_get_counters(after, size) == size)
  call check_true('one region', after%regions == before%regions + 1)
  call check_true('workers', n == 1 .or. omp_get_num_procs() == 1 .or. after%workers >= 1)
  call check_end()
end program
