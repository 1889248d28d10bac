! what: copyprivate of @TYPE@ in Fortran, @ROUNDS@ times
! each: TYPE ; DECLARE ; SET ; GET = integer ; integer :: v ; v = 7 * round ; v / array ; integer :: v(300) ; v = 7 * round ; v(300) / real ; real(8) :: v ; v = 7 * round ; int(v) / pointer ; integer, pointer :: v ; v => places(round) ; v
! each: ROUNDS = 1 / 15
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @DECLARE@
  integer, target :: places(15)
  integer :: round
  places = [(7 * round, round = 1, 15)]
  !$omp parallel private(v, round) shared(places)
  do round = 1, @ROUNDS@
    !$omp single
    @SET@
    !$omp end single copyprivate(v)
    call check_eq('everybody has it', @GET@, 7 * round)
  end do
  !$omp end parallel
  call check_end()
end program
