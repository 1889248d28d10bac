! what: @RULE@, in Fortran
! each: CASE ; RULE ; CHECKED = copy ; omp_target_memcpy copies @SIZE@ integers ; copied(0, 0, @SIZE@) / offset ; omp_target_memcpy copies to an offset ; copied(1, 2, @SIZE@) / present ; memory of the host is present there ; omp_target_is_present(c_loc(a), host) /= 0 / elsewhere ; it is not present elsewhere ; omp_target_is_present(c_loc(a), host + 4_c_int) == 0 / associate ; pointers of the host cannot be associated ; omp_target_associate_ptr(c_loc(a), c_loc(b), 16_c_size_t, 0_c_size_t, host) /= 0 .and. omp_target_disassociate_ptr(c_loc(a), host) /= 0 / wrong device ; a copy to a device that is not there fails ; omp_target_memcpy(c_loc(b), c_loc(a), 4_c_size_t, 0_c_size_t, 0_c_size_t, host + 4_c_int, host) /= 0
! each: SIZE = 1 / 60
! skip: flang its module does not have the routines
! flags: gfortran -ffree-line-length-none
! mode: link
! ours: libgomp counts on its plugins for some of these
include 'check.inc'
program test
  use iso_c_binding
  use omp_lib
  use check
  implicit none
  integer(4), target :: a(100), b(100)
  integer(c_int) :: host
  type(c_ptr) :: p
  integer :: i
  host = int(omp_get_initial_device(), c_int)
  a = [(i + 7, i = 1, 100)]
  b = 0
  call check_true('rule', @CHECKED@)
  p = omp_target_alloc(100_c_size_t, host)
  call check_true('memory', c_associated(p))
  call omp_target_free(p, host)
  call check_end()
contains
  ! In two statements: the order in which the operands of .and. are evaluated is the compiler's choice.
  logical function copied(to, from, n)
    integer, intent(in) :: to, from, n
    copied = omp_target_memcpy(c_loc(b), c_loc(a), 4_c_size_t * n, 4_c_size_t * to, 4_c_size_t * from, host, host) == 0
    copied = copied .and. all(b(to + 1:to + n) == a(from + 1:from + n)) .and. all(b(:to) == 0) .and. all(b(to + n + 1:) == 0)
  end function
end program
