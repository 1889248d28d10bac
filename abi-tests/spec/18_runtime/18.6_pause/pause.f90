! what: omp_pause_resource@ALL@ in Fortran, @KIND@: regions go on; refused inside of them
! each: ALL ; ARGUMENT = ; , omp_get_initial_device() / _all ;
! each: KIND = soft / hard
! peers: libomp fails, because it pauses inside a region as well
! skip: flang<19 its module does not have the routines
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: total, round, refused
  refused = 0
  do round = 1, 4
    total = 0
    call check_eq('pause', omp_pause_resource@ALL@(omp_pause_@KIND@@ARGUMENT@), 0)
    !$omp parallel num_threads(3) reduction(+:total)
    total = total + 1 + omp_get_thread_num()
    !$omp end parallel
    call check_eq('sum', total, 6)
  end do
  !$omp parallel num_threads(2) reduction(+:refused)
  if (omp_pause_resource@ALL@(omp_pause_@KIND@@ARGUMENT@) /= 0) refused = refused + 1
  !$omp end parallel
  call check_eq('refused', refused, 2)
  call check_end()
end program
