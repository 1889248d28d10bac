! what: teams @CLAUSES@ in Fortran: league, team and thread numbers
! each: CLAUSES ; TEAMS ; THREADS = num_teams(1) ; 1 ; 1000 / num_teams(3) ; 3 ; 1000 / num_teams(2) thread_limit(2) ; 2 ; 2 / num_teams(4) thread_limit(1) ; 4 ; 1
! peers: libomp fails, because its leagues are no larger than the machine has processors
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: team, teams(0:7), threads(0:7)
  teams = 0
  threads = 0
  !$omp teams @CLAUSES@ private(team) shared(teams, threads)
  team = omp_get_team_num()
  call check_eq('league', omp_get_num_teams(), @TEAMS@)
  teams(team) = teams(team) + 1
  !$omp parallel shared(threads)
  call check_true('limit', omp_get_num_threads() <= @THREADS@)
  call check_eq('team', omp_get_team_num(), team)
  !$omp atomic
  threads(team) = threads(team) + 1
  !$omp end parallel
  !$omp end teams
  call check_true('teams', all(teams(:@TEAMS@ - 1) == 1) .and. all(teams(@TEAMS@:) == 0))
  call check_true('threads', all(threads(:@TEAMS@ - 1) >= 1) .and. all(threads(:@TEAMS@ - 1) <= @THREADS@))
  call check_eq('outside', omp_get_num_teams(), 1)
  call check_end()
end program
