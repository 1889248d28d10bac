! what: detach with omp_fulfill_event, whose handle is passed by value in Fortran, too
! compilers: gfortran
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_event_handle_kind) :: inside, outside
  integer :: done, round
  do round = 1, 20
    done = 0
    !$omp parallel
    !$omp single
    !$omp task detach(inside) shared(done)
      !$omp atomic
      done = done + 1
      call omp_fulfill_event(inside)
    !$omp end task
    !$omp taskwait
    call check_eq('inside', done, 1)
    !$omp task detach(outside) shared(done)
      !$omp atomic
      done = done + 1
    !$omp end task
    !$omp task firstprivate(outside) shared(done)
      !$omp atomic
      done = done + 1
      call omp_fulfill_event(outside)
    !$omp end task
    !$omp taskwait
    call check_eq('outside', done, 3)
    !$omp end single
    !$omp end parallel
  end do
  call check_end()
end program
