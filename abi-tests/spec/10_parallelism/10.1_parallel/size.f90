! what: the size of a team in Fortran: @CASE@
! each: CASE ; BEFORE ; CLAUSE ; WANT = no clause ; continue ; ; omp_get_max_threads() / num_threads ; continue ; num_threads(5) ; 5 / set ; call omp_set_num_threads(6) ; ; 6 / set and clause ; call omp_set_num_threads(6) ; num_threads(3) ; 3 / if false ; continue ; if(parallel: x > 100) num_threads(4) ; 1 / if true ; continue ; if(x < 100) num_threads(4) ; 4 / no active levels ; call omp_set_max_active_levels(0) ; num_threads(4) ; 1 / expression ; continue ; num_threads(x/2 + 1) ; 4
! each: SHARING = default(none) shared(x, ids, want) / default(shared) / default(firstprivate) shared(ids)
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: x, want, count, round, ids(0:63)
  x = 6
  ids = 0
  count = 0
  call omp_set_dynamic(.false.)
  @BEFORE@
  want = @WANT@
  do round = 1, 2
    !$omp parallel @CLAUSE@ reduction(+:count) @SHARING@
    call check_eq('size', omp_get_num_threads(), want)
    call check_eq('in parallel', omp_in_parallel(), want > 1)
    call check_eq('level', omp_get_level(), 1)
    ids(omp_get_thread_num()) = ids(omp_get_thread_num()) + 1
    count = count + 1
    !$omp end parallel
    call check_eq('each thread once', count, want * round)
    call check_true('their numbers', all(ids(:want - 1) == round) .and. all(ids(want:) == 0))
  end do
  call check_end()
end program
