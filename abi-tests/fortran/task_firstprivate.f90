! what: many tasks that copy the loop index and an array when they are created
! skip: flang<20 reads firstprivate of a task when it runs, not when it is created
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, total, copy(20)
  total = 0
  !$omp parallel
  !$omp single
  do i = 1, 200
    copy = i
    !$omp task firstprivate(i, copy) shared(total)
    !$omp atomic
    total = total + i
    call check_eq('copy', copy(20), i)
    !$omp end task
  end do
  !$omp taskwait
  call check_eq('total', total, 20100)
  !$omp end single
  !$omp end parallel
  call check_end()
end program
