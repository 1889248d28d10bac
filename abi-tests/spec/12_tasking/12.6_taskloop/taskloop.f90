! what: @CONSTRUCT@ @CLAUSE@ in Fortran: each iteration once, all before it returns
! each: CONSTRUCT = taskloop / taskloop simd
! each: CLAUSE = grainsize(7) / num_tasks(3) / num_tasks(500) / collapse(1) / untied / if(.false.) / priority(1) / mergeable / final(.true.)
! skip: flang it cannot lower the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, seen(100)
  seen = 0
  !$omp parallel shared(seen)
  !$omp single
  !$omp @CONSTRUCT@ @CLAUSE@ shared(seen)
  do i = 1, 100
    seen(i) = seen(i) + i
  end do
  call check_true('done', all(seen == [(i, i = 1, 100)]))
  !$omp end single
  !$omp end parallel
  call check_end()
end program
