! what: allocate(@ALLOCATOR@) with @CLAUSE@ on a region in Fortran
! each: ALLOCATOR = omp_default_mem_alloc / omp_large_cap_mem_alloc / omp_thread_mem_alloc
! each: CLAUSE ; LOOK = private ; .false. / firstprivate ; .true.
! skip: flang it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: v(50), runs, id
  v = 6
  runs = 0
  !$omp parallel @CLAUSE@(v) allocate(@ALLOCATOR@: v) shared(runs) private(id)
  id = omp_get_thread_num()
  if (@LOOK@) call check_eq('old', v(50), 6)
  v = 100 + id
  !$omp barrier
  call check_eq('its own', v(50), 100 + id)
  !$omp atomic
  runs = runs + 1
  !$omp end parallel
  call check_eq('kept', v(50), 6)
  call check_eq('runs', runs, omp_get_max_threads())
  call check_end()
end program
