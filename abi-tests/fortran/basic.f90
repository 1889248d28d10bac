! what: one region, thread numbers, levels, private, firstprivate, critical, single
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: n, i, id, total, fp
  integer :: seen(0:63)
  n = omp_get_max_threads()
  seen = 0
  total = 0
  fp = 7
  !$omp parallel private(id) firstprivate(fp) shared(seen, total)
  id = omp_get_thread_num()
  call check_eq('level', omp_get_level(), 1)
  call check_eq('size', omp_get_team_size(1), n)
  call check_eq('ancestor', omp_get_ancestor_thread_num(1), id)
  call check_eq('parallel', omp_in_parallel(), n > 1)
  call check_eq('fp', fp, 7)
  fp = fp + id
  !$omp atomic
  seen(id) = seen(id) + 1
  !$omp critical (named)
  total = total + fp
  !$omp end critical (named)
  !$omp barrier
  !$omp single
  call check_eq('total', total, 7 * n + n * (n - 1) / 2)
  !$omp end single
  !$omp master
  seen(63) = 1
  !$omp end master
  !$omp end parallel
  do i = 0, n - 1
    call check_eq('seen', seen(i), 1)
  end do
  call check_eq('master', seen(63), 1)
  call check_end()
end program
