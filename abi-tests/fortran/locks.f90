! what: simple and nestable locks
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: i, n, total, depth
  n = omp_get_max_threads()
  total = 0
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  call check_true('test', omp_test_lock(lock))
  call check_true('taken', .not. omp_test_lock(lock))
  call omp_unset_lock(lock)
  !$omp parallel private(i, depth)
  do i = 1, 200
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    depth = omp_test_nest_lock(nest)
    call check_eq('depth', depth, 2)
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end do
  !$omp end parallel
  call check_eq('total', total, 200 * n)
  call omp_destroy_lock(lock)
  call omp_destroy_nest_lock(nest)
  call check_end()
end program
