! what: reductions over integers, reals, complex, logicals and arrays
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: i, low, high, bits
  integer(8) :: total, product
  real(8) :: d
  real(4) :: s
  complex(8) :: z
  logical :: all_right, any_right, same
  integer :: hist(7)
  total = 5
  product = 1
  d = 0
  s = 0
  z = (0d0, 0d0)
  low = huge(low)
  high = -huge(high)
  bits = 0
  all_right = .true.
  any_right = .false.
  same = .true.
  hist = 0
  !$omp parallel do reduction(+:total, d, s, z, hist) reduction(*:product) reduction(min:low) reduction(max:high) &
  !$omp& reduction(.and.:all_right) reduction(.or.:any_right) reduction(.eqv.:same) reduction(ior:bits)
  do i = 1, 700
    total = total + i
    d = d + 0.5d0
    s = s + 0.25
    z = z + cmplx(1d0, -1d0, 8)
    hist(mod(i, 7) + 1) = hist(mod(i, 7) + 1) + 1
    if (mod(i, 100) == 0) product = product * 3
    low = min(low, abs(i - 350))
    high = max(high, i)
    all_right = all_right .and. i > 0
    any_right = any_right .or. i == 399
    same = same .eqv. .true.
    bits = ior(bits, ishft(1, mod(i, 9)))
  end do
  call check_eq('total', total, 245355_8)
  call check_eq('product', product, 2187_8)
  call check_eq('d', d, 350d0)
  call check_eq('s', real(s, 8), 175d0)
  call check_eq('re', real(z, 8), 700d0)
  call check_eq('im', aimag(z), -700d0)
  call check_eq('low', low, 0)
  call check_eq('high', high, 700)
  call check_eq('bits', bits, 511)
  call check_true('all', all_right)
  call check_true('any', any_right)
  call check_true('same', same)
  do i = 1, 7
    call check_eq('hist', hist(i), 100)
  end do
  call check_end()
end program
