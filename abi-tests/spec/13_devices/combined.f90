! what: target @CONSTRUCT@ in Fortran on the host computes what the loop does
! each: CONSTRUCT = parallel do / parallel do simd / simd / teams distribute / teams distribute parallel do / teams distribute parallel do simd / teams distribute simd
! each: CLAUSE = map(tofrom: a) / map(tofrom: a) nowait / map(tofrom: a) if(.false.) / map(tofrom: a) device(omp_get_initial_device())
! skip: flang what it makes of target needs libomptarget
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, a(100)
  a = [(i, i = 1, 100)]
  !$omp target @CONSTRUCT@ @CLAUSE@
  do i = 1, 100
    a(i) = a(i) * 3 + 1
  end do
  !$omp taskwait
  call check_true('a', all(a == [(3 * i + 1, i = 1, 100)]))
  call check_end()
end program
