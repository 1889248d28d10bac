! what: threadprivate common block and module data, copyin
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer, save :: counter = 4
  !$omp threadprivate(counter)
  integer :: shared_in(5)
  common /block/ shared_in
  !$omp threadprivate(/block/)
  integer :: n
  n = omp_get_max_threads()
  call omp_set_dynamic(.false.)
  !$omp parallel
  call check_eq('start', counter, 4)
  counter = omp_get_thread_num() * 3
  shared_in = counter + 1
  !$omp end parallel
  !$omp parallel
  call check_eq('kept', counter, omp_get_thread_num() * 3)
  call check_eq('block', shared_in(5), omp_get_thread_num() * 3 + 1)
  !$omp end parallel
  counter = 99
  shared_in(3) = 55
  !$omp parallel copyin(counter, /block/)
  call check_eq('copied', counter, 99)
  call check_eq('copied block', shared_in(3), 55)
  !$omp end parallel
  call check_true('n', n >= 1)
  call check_end()
end program
