! what: sections, parallel sections, single copyprivate
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: done(4), value, i
  done = 0
  !$omp parallel private(value)
  !$omp sections
  !$omp section
  done(1) = done(1) + 1
  !$omp section
  done(2) = done(2) + 1
  !$omp section
  done(3) = done(3) + 1
  !$omp end sections
  do i = 1, 20
    !$omp single
    value = 10 * i
    !$omp end single copyprivate(value)
    call check_eq('value', value, 10 * i)
  end do
  !$omp end parallel
  !$omp parallel sections
  !$omp section
  done(4) = done(4) + 1
  !$omp end parallel sections
  do i = 1, 4
    call check_eq('done', done(i), 1)
  end do
  call check_end()
end program
