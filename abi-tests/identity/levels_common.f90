! what: a threadprivate common block in teams of 1 to 17 threads, nested in three levels: apart, copied in, kept
! threads: 1,4,17
! compilers: gfortran
include 'check.inc'
module inside
  implicit none
contains
  subroutine own(id)
    integer, intent(in) :: id
    real(8) :: values(4)
    integer :: number
    common /block/ values, number
    !$omp threadprivate(/block/)
    integer :: k
    number = id
    values = [(id + k * 0.5d0, k=1, 4)]
  end subroutine
  subroutine still(id)
    use check
    integer, intent(in) :: id
    real(8) :: values(4)
    integer :: number
    common /block/ values, number
    !$omp threadprivate(/block/)
    call check_eq('number', number, id)
    call check_eq('last value', values(4), id + 2.0d0)
  end subroutine
  recursive subroutine inner(parent, size, levels)
    use omp_lib
    integer, intent(in) :: parent, size, levels
    integer :: number, id
    real(8) :: values(4)
    common /block/ values, number
    !$omp threadprivate(/block/)
    !$omp parallel num_threads(size) copyin(/block/) private(id)
    id = parent * 4 + omp_get_thread_num() + 1
    call still(parent)
    !$omp barrier
    call own(id)
    !$omp barrier
    call still(id)
    if (levels > 1) call inner(id, 2, levels - 1)
    if (levels > 1) call own(id)
    !$omp barrier
    call still(id)
    !$omp end parallel
  end subroutine
end module
program test
  use omp_lib
  use check
  use inside
  implicit none
  integer :: size, round, id
  call omp_set_dynamic(.false.)
  call omp_set_max_active_levels(3)
  do size = 1, 17
    do round = 1, 3
      !$omp parallel num_threads(size) private(id)
      id = size * 100 + omp_get_thread_num()
      if (round > 1) call still(id)
      call own(id)
      !$omp barrier
      call still(id)
      if (round < 3) call inner(id, 2 + mod(omp_get_thread_num(), 2), 2)
      call own(id)
      !$omp barrier
      call still(id)
      !$omp end parallel
    end do
  end do
  call check_end()
end program
