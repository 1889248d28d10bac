! what: @CONSTRUCT@ @CLAUSE@ in Fortran
! each: CONSTRUCT = simd / do simd / parallel do simd
! each: CLAUSE ; SKIP = safelen(8) ; none / simdlen(4) ; none / aligned(a) ; none / linear(j) ; flang / reduction(+:s) ; none
! flags: gfortran -Wno-surprising
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i
  integer, save :: j, s
  integer, allocatable :: a(:)
  allocate (a(200))
  s = 0
  j = 0
  a = 0
  !$omp @CONSTRUCT@ @CLAUSE@
  do i = 1, 200
    a(i) = a(i) + 3 * i
  end do
  call check_true('each iteration once', all(a == [(3 * i, i = 1, 200)]))
  !$omp @CONSTRUCT@ reduction(+:s)
  do i = 1, 200
    s = s + a(i)
  end do
  call check_eq('sum', s, 60300)
  call check_end()
end program
