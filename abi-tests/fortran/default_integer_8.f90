! what: routines called with 8-byte default integers and logicals
! compilers: gfortran
! flags: gfortran -fdefault-integer-8
program test
  use omp_lib
  implicit none
  integer :: n, total
  logical :: right
  call omp_set_num_threads(3)
  n = omp_get_max_threads()
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(2)
  right = n == 3 .and. omp_get_max_active_levels() == 2 .and. .not. omp_get_dynamic()
  total = 0
  !$omp parallel reduction(+:total)
  total = total + omp_get_thread_num() + omp_get_ancestor_thread_num(1_8) + omp_get_team_size(1_8)
  !$omp end parallel
  right = right .and. total == 15
  if (.not. right) then
    write (0, *) 'expected 3 threads and 15, got ', n, total
    stop 1
  end if
end program
