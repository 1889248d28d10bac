! what: what the routines about teams, levels and tasks say in Fortran here: @WHERE@
! each: WHERE ; OPENA ; OPENB ; OPENC ; ENDA ; ENDB ; ENDC ; LEVEL ; ACTIVE ; SIZE ; FINAL = sequential ; continue ; continue ; continue ; continue ; continue ; continue ; 0 ; 0 ; 1 ; .false. / region ; !$omp parallel num_threads(3) ; continue ; continue ; continue ; continue ; !$omp end parallel ; 1 ; 1 ; 3 ; .false. / region of one ; !$omp parallel num_threads(1) ; continue ; continue ; continue ; continue ; !$omp end parallel ; 1 ; 0 ; 1 ; .false. / nested ; !$omp parallel num_threads(2) ; !$omp parallel num_threads(2) ; continue ; continue ; !$omp end parallel ; !$omp end parallel ; 2 ; 2 ; 2 ; .false. / one in many ; !$omp parallel num_threads(2) ; !$omp parallel num_threads(1) ; continue ; continue ; !$omp end parallel ; !$omp end parallel ; 2 ; 1 ; 1 ; .false. / many in one ; !$omp parallel num_threads(1) ; !$omp parallel num_threads(3) ; continue ; continue ; !$omp end parallel ; !$omp end parallel ; 2 ; 1 ; 3 ; .false. / task ; !$omp parallel num_threads(3) ; !$omp task ; continue ; continue ; !$omp end task ; !$omp end parallel ; 1 ; 1 ; 3 ; .false. / final task ; !$omp parallel num_threads(2) ; !$omp task final(.true.) ; continue ; continue ; !$omp end task ; !$omp end parallel ; 1 ; 1 ; 2 ; .true. / region in a task ; !$omp parallel num_threads(2) ; !$omp task ; !$omp parallel num_threads(2) ; !$omp end parallel ; !$omp end task ; !$omp end parallel ; 2 ; 2 ; 2 ; .false.
! each: KIND ; SKIP = 4 ; none / 8 ; flang
! skip: @SKIP@ its module has the routines for default integers only
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(@KIND@) :: level
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(int(4, @KIND@))
  level = @LEVEL@
  @OPENA@
  @OPENB@
  @OPENC@
  call check_eq('level', omp_get_level(), @LEVEL@)
  call check_eq('active level', omp_get_active_level(), @ACTIVE@)
  call check_eq('size', omp_get_num_threads(), @SIZE@)
  call check_eq('in parallel', omp_in_parallel(), @ACTIVE@ > 0)
  call check_eq('final', omp_in_final(), @FINAL@)
  call check_true('number', omp_get_thread_num() >= 0 .and. omp_get_thread_num() < @SIZE@)
  call check_eq('ancestor', omp_get_ancestor_thread_num(level), omp_get_thread_num())
  call check_eq('team size', omp_get_team_size(level), @SIZE@)
  call check_eq('no ancestor', omp_get_ancestor_thread_num(level + 1), -1)
  call check_eq('no team', omp_get_team_size(level + 1), -1)
  @ENDA@
  @ENDB@
  @ENDC@
  call check_eq('behind it', omp_get_level(), 0)
  call check_end()
end program
