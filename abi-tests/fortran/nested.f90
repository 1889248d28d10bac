! what: nested regions, levels, and routines that set and get
! threads: 1,2,4
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: n, leaves, chunk
  integer(omp_sched_kind) :: kind
  n = omp_get_max_threads()
  leaves = 0
  call omp_set_max_active_levels(2)
  call check_eq('max levels', omp_get_max_active_levels(), 2)
  !$omp parallel
  !$omp parallel num_threads(3)
  call check_eq('level', omp_get_level(), 2)
  call check_eq('size', omp_get_num_threads(), 3)
  call check_eq('outer size', omp_get_team_size(1), n)
  !$omp atomic
  leaves = leaves + 1
  !$omp end parallel
  !$omp end parallel
  call check_eq('leaves', leaves, 3 * n)
  call omp_set_schedule(omp_sched_guided, 4)
  call omp_get_schedule(kind, chunk)
  call check_eq('kind', int(kind), int(omp_sched_guided))
  call check_eq('chunk', chunk, 4)
  call omp_set_num_threads(6)
  call check_eq('threads', omp_get_max_threads(), 6)
  call check_true('wtime', omp_get_wtime() > 0 .and. omp_get_wtick() > 0)
  call check_true('procs', omp_get_num_procs() >= 1 .and. omp_get_thread_limit() >= 1)
  call check_true('dynamic', .not. omp_get_dynamic())
  call check_true('final', .not. omp_in_final())
  call check_end()
end program
