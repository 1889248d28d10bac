! what: omp_capture_affinity of @FORMAT@ in Fortran, and the format that is set
! each: FORMAT ; WANT ; VALUE = thread %n. ; ('thread ', i0, '.') ; omp_get_thread_num() / of %N! ; ('of ', i0, '!') ; omp_get_num_threads() / level %L ; ('level ', i0) ; omp_get_level()
! each: THREADS = 1 / 3
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  character(60) :: text, want
  integer :: length
  call omp_set_affinity_format('@FORMAT@')
  text = repeat('?', 60)
  length = int(omp_get_affinity_format(text))
  call check_eq('length of the format', length, len('@FORMAT@'))
  call check_true('the format', text == '@FORMAT@')
  !$omp parallel num_threads(@THREADS@) private(text, want, length)
  text = repeat('?', 60)
  write (want, "@WANT@") @VALUE@
  length = int(omp_capture_affinity(text, '@FORMAT@'))
  call check_eq('length', length, len_trim(want))
  call check_true('text', text == want)
  !$omp end parallel
  call check_end()
end program
