! what: of the ready tasks, a thread starts those of the highest priority first; tasks of a taskloop have its priority
! skip: flang has no taskloop in version 19
! threads: 2
! env: OMP_MAX_TASK_PRIORITY=50
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: order(14), starts, over, seen, i
  integer, parameter :: wanted(14) = [50, 9, 8, 7, 6, 5, 4, 4, 4, 4, 3, 2, 1, 0]
  starts = 0
  over = 0
  call check_eq('limit', omp_get_max_task_priority(), 50)
  !$omp parallel num_threads(2) private(seen, i)
  if (omp_get_thread_num() == 0) then
    call make()
    !$omp taskwait
    !$omp atomic write
    over = 1
  else
    ! The other thread runs nothing.
    seen = 0
    do while (seen == 0)
      !$omp atomic read
      seen = over
    end do
  end if
  !$omp end parallel
  call check_eq('starts', starts, 14)
  do i = 1, 14
    call check_eq('order', order(i), wanted(i))
  end do
  call check_end()
contains
  subroutine make()
    integer :: k
    do k = 0, 9
      if (k == 4) cycle
      !$omp task priority(k) firstprivate(k) shared(order, starts)
      call start(k)
      !$omp end task
    end do
    !$omp taskloop nogroup num_tasks(4) priority(4) shared(order, starts)
    do k = 1, 4
      call start(4)
    end do
    !$omp end taskloop
    !$omp task priority(1000) shared(order, starts)
    call start(50)
    !$omp end task
  end subroutine
  subroutine start(id)
    integer, intent(in) :: id
    integer :: at
    !$omp atomic capture
    starts = starts + 1
    at = starts
    !$omp end atomic
    order(at) = id
  end subroutine
end program
