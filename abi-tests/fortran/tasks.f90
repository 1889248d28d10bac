! what: tasks, taskwait, taskgroup, depend, if, final
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: x, y
  x = 0
  y = 0
  !$omp parallel
  !$omp single
  !$omp task depend(out: x) shared(x)
  x = 1
  !$omp end task
  !$omp task depend(in: x) depend(out: y) shared(x, y)
  y = x + 10
  !$omp end task
  !$omp task depend(inout: y) shared(y)
  y = y * 2
  !$omp end task
  !$omp taskwait
  call check_eq('y', y, 22)
  !$omp taskgroup
  !$omp task shared(x)
  !$omp task shared(x)
  !$omp atomic
  x = x + 5
  !$omp end task
  !$omp end task
  !$omp end taskgroup
  call check_eq('x', x, 6)
  !$omp task if(.false.) shared(x)
  x = 100
  !$omp end task
  call check_eq('undeferred', x, 100)
  !$omp end single
  !$omp end parallel
  call check_end()
end program
