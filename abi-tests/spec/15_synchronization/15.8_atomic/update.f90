! what: atomic @KIND@ of @TYPE@ in Fortran
! each: TYPE = integer(4) / integer(8) / real(4) / real(8)
! each: KIND ; CLAUSE ; SKIP = update ; update ; none / capture ; update ; none / seq_cst ; seq_cst ; none / relaxed ; relaxed ; none / release ; release ; flang / hint ; hint(omp_sync_hint_contended) update ; none
! skip: @SKIP@ it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @TYPE@ :: x, y
  integer :: i, n
  n = omp_get_max_threads()
  x = 0
  !$omp parallel private(i, y) shared(x)
  do i = 1, 200
    if ('@KIND@' == 'capture') then
      !$omp atomic capture
      y = x
      x = x + 2
      !$omp end atomic
      call check_true('was there', mod(int(y), 2) == 0)
    else
      !$omp atomic @CLAUSE@
      x = x + 2
    end if
    !$omp atomic read
    y = x
    call check_true('grows', int(y) >= 2 * i)
  end do
  !$omp barrier
  !$omp single
  call check_eq('sum', int(x), 400 * n)
  !$omp end single
  !$omp atomic write
  x = 7
  !$omp end parallel
  call check_eq('written', int(x), 7)
  call check_end()
end program
