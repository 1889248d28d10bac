! what: @CONSTRUCT@ @NOWAIT@: array statements, where, forall and scalars, in order
! each: CONSTRUCT ; OPEN ; INNER ; CLOSE ; NOWAIT = workshare ; parallel ; workshare ; end parallel ; / workshare nowait ; parallel ; workshare ; end parallel ; nowait / parallel workshare ; taskgroup ; parallel workshare ; end taskgroup ;
! each: KIND = integer / real
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @KIND@ :: a(50), b(50), c(5, 10)
  @KIND@ :: total
  integer :: i
  total = 0
  !$omp @OPEN@
  !$omp @INNER@
  a = 1
  b = a * 2 + 1
  where (b > 2) a = b + 4
  forall (i = 1:50) b(i) = a(i) + i
  c = 3
  total = sum(b) + sum(c)
  !$omp end @INNER@ @NOWAIT@
  !$omp @CLOSE@
  call check_true('a', all(a == 7))
  call check_true('b', all(nint(real(b)) == [(7 + i, i = 1, 50)]))
  call check_eq('total', nint(real(total)), 350 + 1275 + 150)
  call check_end()
end program
