! what: what threads stored before a barrier the others see behind it, in Fortran, @ROUNDS@ rounds
! each: ROUNDS = 2 / 25
! each: WAY ; OPEN ; CLOSE = barrier ; !$omp barrier ; continue / end of single ; !$omp single ; !$omp end single
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: round, id, n, cells(0:31)
  cells = 0
  n = omp_get_max_threads()
  !$omp parallel private(round, id) shared(cells, n)
  id = omp_get_thread_num()
  do round = 1, @ROUNDS@
    cells(id) = round
    @OPEN@
    @CLOSE@
    !$omp barrier
    call check_eq('mine and my neighbour''s', cells(mod(id + 1, n)), round)
    !$omp barrier
  end do
  !$omp end parallel
  call check_end()
end program
