! what: @CONSTRUCT@ dist_schedule(@DIST@) in Fortran: each iteration once
! each: CONSTRUCT ; CLAUSE = teams distribute ; num_teams(3) / teams distribute simd ; num_teams(2) / teams distribute parallel do ; num_teams(2) thread_limit(3) / teams distribute parallel do simd ; num_teams(2) thread_limit(2)
! each: DIST = static / static, 7
! skip: flang it cannot lower reductions there yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(90), total
  seen = 0
  total = 0
  !$omp @CONSTRUCT@ @CLAUSE@ dist_schedule(@DIST@) shared(seen)
  do i = 1, 90
    seen(i) = seen(i) + i
  end do
  call check_true('each once', all(seen == [(i, i = 1, 90)]))
  !$omp @CONSTRUCT@ @CLAUSE@ reduction(+:total)
  do i = 1, 90
    total = total + seen(i)
  end do
  call check_eq('total', total, 4095)
  call check_end()
end program
