! what: @OUTER@ x @INNER@ nested threads in Fortran with max-active-levels @LEVELS@
! each: LEVELS = 1 / 2 / 3
! each: OUTER ; INNER = 2 ; 3 / 4 ; 1 / 1 ; 4
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: outer, inner, mine, wanted
  outer = 0
  inner = 0
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(@LEVELS@)
  wanted = @INNER@
  if (@LEVELS@ == 1 .and. @OUTER@ > 1) wanted = 1
  !$omp parallel num_threads(@OUTER@) private(mine) reduction(+:outer, inner)
  mine = omp_get_thread_num()
  outer = outer + 1
  !$omp parallel num_threads(@INNER@) reduction(+:inner)
  inner = inner + 1
  call check_eq('size', omp_get_num_threads(), wanted)
  call check_eq('level', omp_get_level(), 2)
  call check_eq('ancestor 0', omp_get_ancestor_thread_num(0), 0)
  call check_eq('ancestor 1', omp_get_ancestor_thread_num(1), mine)
  call check_eq('ancestor 2', omp_get_ancestor_thread_num(2), omp_get_thread_num())
  call check_eq('no ancestor 3', omp_get_ancestor_thread_num(3), -1)
  call check_eq('team 1', omp_get_team_size(1), @OUTER@)
  call check_eq('team 2', omp_get_team_size(2), wanted)
  !$omp end parallel
  !$omp end parallel
  call check_eq('outer', outer, @OUTER@)
  call check_eq('inner', inner, @OUTER@ * wanted)
  call check_end()
end program
