! what: depobj in Fortran: depend(@KIND@) by an object, @LATER@
! each: KIND ; ORDER = in ; 1 / out ; 1 / inout ; 1
! each: LATER ; CHANGE = as made ; continue / after update ; !$omp depobj(object) update(inout)
! skip: flang it cannot lower the construct yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_depend_kind) :: object
  integer :: x, i
  x = 0
  !$omp parallel shared(x, object) private(i)
  !$omp single
  do i = 1, 10
    !$omp depobj(object) depend(@KIND@: x)
    @CHANGE@
    !$omp task depend(out: x) shared(x)
    x = 10 * i
    !$omp end task
    !$omp task depend(depobj: object) shared(x)
    call check_eq('the first is done', x, @ORDER@ * 10 * i)
    !$omp end task
    !$omp taskwait
    !$omp depobj(object) destroy
  end do
  !$omp end single
  !$omp end parallel
  call check_end()
end program
