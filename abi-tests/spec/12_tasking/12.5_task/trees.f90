! what: a recursive tree of @KIND@ tasks in Fortran, joined by @JOIN@
! each: KIND ; CLAUSE ; SKIP = tied ; ; none / untied ; untied ; flang / cut off ; final(n < 5) ; none / undeferred ; if(n > 8) ; none
! each: JOIN ; BEGIN ; END = taskwait ; continue ; taskwait / taskgroup ; !$omp taskgroup ; end taskgroup
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: r
  r = 0
  !$omp parallel
  !$omp single
  r = fib(13)
  !$omp end single
  !$omp end parallel
  call check_eq('fib', r, 233)
  call check_end()
contains
  recursive integer function fib(n) result(r)
    integer, intent(in) :: n
    integer :: a, b
    r = n
    if (n < 2) return
    @BEGIN@
    !$omp task shared(a) @CLAUSE@
    a = fib(n - 1)
    !$omp end task
    !$omp task shared(b) @CLAUSE@
    b = fib(n - 2)
    !$omp end task
    !$omp @END@
    r = a + b
  end function
end program
