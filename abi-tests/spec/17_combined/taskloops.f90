! what: @CONSTRUCT@ in Fortran: each iteration once
! each: CONSTRUCT = parallel masked taskloop / parallel master taskloop / parallel masked taskloop simd / masked taskloop / master taskloop simd
! each: CLAUSE = grainsize(9) / num_tasks(4)
! skip: flang it cannot lower the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(80)
  seen = 0
  !$omp @CONSTRUCT@ @CLAUSE@ shared(seen)
  do i = 1, 80
    seen(i) = seen(i) + 1
  end do
  !$omp end @CONSTRUCT@
  call check_true('each once', all(seen == 1))
  call check_end()
end program
