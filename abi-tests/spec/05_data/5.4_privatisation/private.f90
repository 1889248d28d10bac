! what: @CLAUSE@ of @TYPE@ on @CONSTRUCT@ in Fortran
! each: CONSTRUCT ; OPEN ; INNER ; END = parallel ; parallel @CLAUSE@(v) shared(runs) ; critical ; critical / single ; parallel ; single @CLAUSE@(v) ; single / task ; parallel ; task @CLAUSE@(v) shared(runs) ; task
! each: CLAUSE ; LOOK = private ; .false. / firstprivate ; .true.
! each: TYPE ; DECLARE ; START ; GET ; SET = integer ; integer :: v ; v = 77 ; v ; v = x / double ; real(8) :: v ; v = 77 ; int(v) ; v = x / array ; integer :: v(40) ; v = 77 ; v(40) ; v(40) = x / allocatable ; integer, allocatable :: v(:) ; allocate (v(30), source=77) ; v(30) ; v = x / character ; character(9) :: v ; write (v, '(i9)') 77 ; number(v) ; write (v, '(i9)') x / derived ; type(pair) :: v ; v = pair(1, 77) ; v%b ; v = pair(x, x)
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: runs
  type pair
    integer :: a, b
  end type
  @DECLARE@
  runs = 0
  @START@
  !$omp @OPEN@
  !$omp @INNER@
  !$omp atomic
  runs = runs + 1
  block
    integer :: x
    x = 10 * omp_get_thread_num()
    if (@LOOK@) call check_eq('old value', @GET@, 77)
    @SET@
    !$omp taskyield
    call check_eq('its own', @GET@, x)
  end block
  !$omp end @END@
  !$omp end parallel
  call check_eq('kept', @GET@, 77)
  call check_true('ran', runs >= 1)
  call check_end()
contains
  integer function number(text)
    character(*), intent(in) :: text
    read (text, *) number
  end function
end program
