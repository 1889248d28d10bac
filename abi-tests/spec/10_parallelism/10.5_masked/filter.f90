! what: @NAME@ in Fortran runs on the thread it names and nobody waits
! each: NAME ; CONSTRUCT ; CLAUSE ; WHO = masked ; masked ; ; 0 / masked of 1 ; masked ; filter(1) ; 1 / masked of all ; masked ; filter(id) ; id / master ; master ; ; 0
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: runs, wanted, id
  runs = 0
  wanted = 0
  !$omp parallel private(id)
  id = omp_get_thread_num()
  !$omp atomic
  wanted = wanted + merge(1, 0, id == @WHO@)
  !$omp @CONSTRUCT@ @CLAUSE@
  call check_eq('who', id, @WHO@)
  !$omp atomic
  runs = runs + 1
  !$omp end @CONSTRUCT@
  !$omp barrier
  call check_eq('runs', runs, wanted)
  !$omp end parallel
  call check_true('somebody', runs >= 1)
  call check_end()
end program
