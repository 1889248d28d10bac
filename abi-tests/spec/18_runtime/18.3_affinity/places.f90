! what: the routines about places in Fortran under OMP_PLACES=@PLACES@, integer(@KIND@)
! each: PLACES ; COUNT ; PROCS = {0} ; 1 ; 1 / {0},{0} ; 2 ; 1 / {0}:1 ; 1 ; 1
! each: KIND ; SKIP = 4 ; none / 8 ; flang
! skip: @SKIP@ its module has the routines for default integers only
! env: OMP_PLACES=@PLACES@ OMP_PROC_BIND=close
! ours: what peers make of a processor in two places is theirs
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(@KIND@) :: p, ids(8), nums(8)
  call check_eq('places', omp_get_num_places(), @COUNT@)
  call check_true('bind', omp_get_proc_bind() == omp_proc_bind_close)
  do p = 0, @COUNT@ - 1
    ids = -1
    call check_eq('processors', omp_get_place_num_procs(p), @PROCS@)
    call omp_get_place_proc_ids(p, ids)
    call check_true('number', ids(1) == 0 .and. all(ids(2:) == -1))
  end do
  call check_eq('none', omp_get_place_num_procs(int(@COUNT@, @KIND@)), 0)
  !$omp parallel private(nums)
  nums = -1
  call check_true('here', omp_get_place_num() >= 0 .and. omp_get_place_num() < @COUNT@)
  call omp_get_partition_place_nums(nums)
  call check_eq('partition', count(nums >= 0), omp_get_partition_num_places())
  !$omp end parallel
  call check_end()
end program
