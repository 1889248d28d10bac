! what: omp_set_max_active_levels(@VALUE@) in Fortran: active regions end there
! each: VALUE = 0 / 1 / 2 / 3
! each: KIND ; SKIP = 4 ; none / 8 ; flang
! skip: @SKIP@ its module has the routine for default integers only
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: active
  active = 0
  call omp_set_max_active_levels(@VALUE@_@KIND@)
  call check_eq('get', omp_get_max_active_levels(), @VALUE@)
  !$omp parallel num_threads(2) reduction(max:active)
  !$omp parallel num_threads(2) reduction(max:active)
  !$omp parallel num_threads(2) reduction(max:active)
  active = omp_get_active_level()
  !$omp end parallel
  !$omp end parallel
  !$omp end parallel
  call check_eq('active', active, @VALUE@)
  call check_end()
end program
