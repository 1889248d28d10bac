! what: @CALL@ in Fortran: @WANT@
! each: CALL ; WANT = omp_get_num_threads() ; got == 1 / omp_get_thread_num() ; got == 0 / omp_get_level() ; got == 0 / omp_get_active_level() ; got == 0 / omp_get_ancestor_thread_num(0) ; got == 0 / omp_get_ancestor_thread_num(1) ; got == -1 / omp_get_team_size(0) ; got == 1 / omp_get_team_size(-1) ; got == -1 / omp_get_num_teams() ; got == 1 / omp_get_team_num() ; got == 0 / omp_get_max_teams() ; got == 0 / omp_get_teams_thread_limit() ; got == 0 / omp_get_supported_active_levels() ; got > 1 / omp_get_thread_limit() ; got > 64 / omp_get_max_task_priority() ; got >= 0 / omp_get_num_procs() ; got >= 1 / omp_get_num_places() ; got >= 0 / omp_get_partition_num_places() ; got >= 0 / omp_get_num_devices() ; got == 0 / omp_get_initial_device() ; got == 0 / omp_get_default_device() ; got == 0 / omp_get_device_num() ; got == omp_get_initial_device() / omp_get_max_threads() ; got > 1
! each: CALL ; WANT = merge(1, 0, omp_in_parallel()) ; got == 0 / merge(1, 0, omp_in_final()) ; got == 0 / merge(1, 0, omp_get_dynamic()) ; got == 0 / merge(1, 0, omp_is_initial_device()) ; got == 1 / int(1e9 * omp_get_wtick()) ; got > 0 .and. got < 10000000
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: got, round
  do round = 1, 2
    got = int(@CALL@)
    call check_true('value', @WANT@)
    !$omp parallel
    !$omp end parallel
  end do
  call check_end()
end program
