! what: @SET@(@VALUE@) in Fortran: get says so, and leagues and teams keep to it
! each: SET ; GET ; TEAMS ; THREADS = omp_set_num_teams ; omp_get_max_teams ; @VALUE@ ; 1000 / omp_set_teams_thread_limit ; omp_get_teams_thread_limit ; 1000 ; @VALUE@
! each: VALUE = 1 / 2 / 5
! skip: flang its module does not have the routines
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: teams, largest
  teams = 0
  largest = 0
  call @SET@(@VALUE@)
  call check_eq('get', @GET@(), @VALUE@)
  !$omp teams reduction(max:teams, largest)
  teams = omp_get_num_teams()
  !$omp parallel reduction(max:largest)
  largest = omp_get_num_threads()
  !$omp end parallel
  !$omp end teams
  call check_true('teams', teams >= 1 .and. teams <= @TEAMS@)
  call check_true('threads', largest >= 1 .and. largest <= @THREADS@)
  call check_end()
end program
