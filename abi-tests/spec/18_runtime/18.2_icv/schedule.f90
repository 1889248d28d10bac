! what: omp_set_schedule(@KIND@, @CHUNK@) in Fortran: get returns it, and schedule(runtime) goes by it
! each: KIND ; FIXED = static ; .true. / dynamic ; .false. / guided ; .false.
! each: CHUNK = 1 / 4 / 1000
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_sched_kind) :: kind
  integer :: i, size, owner(0:59)
  call omp_set_dynamic(.false.)
  call omp_set_schedule(omp_sched_@KIND@, @CHUNK@)
  call omp_get_schedule(kind, size)
  call check_true('kind', kind == omp_sched_@KIND@)
  call check_eq('chunk', size, @CHUNK@)
  owner = -1
  !$omp parallel do schedule(runtime) num_threads(4) shared(owner)
  do i = 0, 59
    call check_eq('once', owner(i), -1)
    owner(i) = omp_get_thread_num()
  end do
  !$omp end parallel do
  call check_true('somebody', all(owner >= 0 .and. owner < 4))
  if (@FIXED@) call check_true('whose', all(owner == [(mod(i / @CHUNK@, 4), i = 0, 59)]))
  call check_end()
end program
