! what: taskloop with grainsize and num_tasks
! skip: flang has no taskloop in version 19
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(500)
  seen = 0
  !$omp parallel
  !$omp single
  !$omp taskloop grainsize(7)
  do i = 1, 500
    seen(i) = seen(i) + 1
  end do
  !$omp end taskloop
  !$omp taskloop num_tasks(6)
  do i = 500, 1, -1
    seen(i) = seen(i) + 1
  end do
  !$omp end taskloop
  !$omp end single
  !$omp end parallel
  do i = 1, 500
    call check_eq('seen', seen(i), 2)
  end do
  call check_end()
end program
