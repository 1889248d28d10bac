! what: cancel taskgroup in Fortran with OMP_CANCELLATION=@ON@: tasks that have not started do not run, and @POINT@
! each: ON ; YES = true ; .true. / false ; .false.
! each: POINT ; CHECK = points stop the others ; !$omp cancellation point taskgroup / others end ; continue
! env: OMP_CANCELLATION=@ON@
! skip: flang it cannot lower the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, before, after
  before = 0
  after = 0
  !$omp parallel private(i) shared(before, after)
  !$omp single
  !$omp taskgroup
  !$omp task shared(after)
  !$omp cancel taskgroup
  !$omp atomic
  after = after + 1000
  !$omp end task
  !$omp taskwait
  do i = 1, 50
    !$omp task shared(before, after)
    !$omp atomic
    before = before + 1
    @CHECK@
    !$omp atomic
    after = after + 1
    !$omp end task
  end do
  !$omp end taskgroup
  if (@YES@) then
    call check_eq('none started', before, 0)
    call check_eq('none ended', after, 0)
  else
    call check_eq('all started', before, 50)
    call check_eq('all ended', after, 1050)
  end if
  !$omp end single
  !$omp end parallel
  call check_end()
end program
