! what: a threadprivate common block and a module array persist per thread, through barriers and into the next region
! threads: 4,8
include 'check.inc'
module state
  implicit none
  integer :: series(8) = 0
  !$omp threadprivate(series)
end module
subroutine fill(id, round)
  use state
  implicit none
  integer, intent(in) :: id, round
  integer :: number
  real(8) :: values(4)
  common /block/ number, values
  !$omp threadprivate(/block/)
  integer :: k
  number = 100 * id + round
  values = [(id + k * 0.5d0, k=1, 4)]
  series = number + 1
end subroutine
subroutine verify(id, round)
  use check
  use state
  implicit none
  integer, intent(in) :: id, round
  integer :: number
  real(8) :: values(4)
  common /block/ number, values
  !$omp threadprivate(/block/)
  call check_eq('number', number, 100 * id + round)
  call check_eq('last value', values(4), id + 2.0d0)
  call check_eq('series', sum(series), 8 * (100 * id + round + 1))
end subroutine
program test
  use omp_lib
  use check
  implicit none
  integer :: round
  call omp_set_dynamic(.false.)
  do round = 1, 10
    !$omp parallel
    call fill(omp_get_thread_num(), round)
    !$omp barrier
    call verify(omp_get_thread_num(), round)
    !$omp end parallel
    !$omp parallel
    call verify(omp_get_thread_num(), round)
    !$omp barrier
    call verify(omp_get_thread_num(), round)
    !$omp end parallel
  end do
  call check_end()
end program
