! The calls of threads.c by their Fortran names, of `use mpi` (which are those of mpif.h) and of `use mpi_f08`.
module counted
  use ompx_lib
  use, intrinsic :: iso_c_binding, only: c_size_t
  implicit none
  integer, parameter :: threads = 6, rounds = 40
contains
  integer function rescues()
    type(ompx_counters_t) :: counters
    integer(c_size_t) :: known
    known = ompx_get_counters(counters, storage_size(counters) / 8_c_size_t)
    rescues = int(counters%hand_offs + counters%preemptions)
  end function

  subroutine check(what, is, should)
    character(*), intent(in) :: what
    integer, intent(in) :: is, should
    if (is == should) return
    write (0, *) what, ' is ', is, ', not ', should
    error stop
  end subroutine

  subroutine check_rescues(what, before)
    character(*), intent(in) :: what
    integer, intent(in) :: before
    character(4) :: workers
    call get_environment_variable('GANGWAY_WORKERS', workers)
    if (workers /= '1' .or. rescues() - before <= rounds) return
    write (0, *) what, ': the monitor helped ', rescues() - before, ' times'
    error stop
  end subroutine
end module

module old_names
  use mpi
  use counted
  implicit none
contains
  ! Each thread waits for those with higher numbers, by another call.
  subroutine old_round(round, thread, rank)
    integer, intent(in) :: round, thread, rank
    integer :: value, error, status(mpi_status_size), requests(2), statuses(mpi_status_size, 2), values(2), to
    value = -1
    select case (thread)
    case (0)
      call mpi_recv(value, 1, mpi_integer, rank, 10, mpi_comm_world, status, error)
      call check('source', status(mpi_source), rank)
      call check('tag', status(mpi_tag), 10)
    case (1)
      call mpi_irecv(value, 1, mpi_integer, rank, 11, mpi_comm_world, requests(1), error)
      call mpi_wait(requests(1), mpi_status_ignore, error)
      call check('request', requests(1), mpi_request_null)
    case (2)
      call mpi_irecv(values(1), 1, mpi_integer, rank, 12, mpi_comm_world, requests(1), error)
      call mpi_irecv(values(2), 1, mpi_integer, rank, 112, mpi_comm_world, requests(2), error)
      call mpi_waitall(2, requests, statuses, error)
      call check('second tag', statuses(mpi_tag, 2), 112)
      value = values(2)
    case (3)
      call mpi_probe(rank, 13, mpi_comm_world, status, error)
      call check('probed', status(mpi_tag), 13)
      call mpi_recv(value, 1, mpi_integer, rank, 13, mpi_comm_world, mpi_status_ignore, error)
    case (4)
      call mpi_sendrecv(round, 1, mpi_integer, 1 - rank, 14, value, 1, mpi_integer, 1 - rank, 14, mpi_comm_world, status, error)
    case default
      do to = 3, 1, -1
        call mpi_send(round, 1, mpi_integer, rank, 10 + to, mpi_comm_world, error)
      end do
      call mpi_send(round, 1, mpi_integer, rank, 112, mpi_comm_world, error)
      call mpi_ssend(round, 1, mpi_integer, rank, 10, mpi_comm_world, error)
      value = round
    end select
    call check('error', error, mpi_success)
    call check('value', value, round)
  end subroutine
end module

module new_names
  use mpi_f08
  use counted
  implicit none
contains
  subroutine new_round(round, thread, rank)
    integer, intent(in) :: round, thread, rank
    integer :: value, values(2), to
    type(mpi_status) :: status, statuses(2)
    type(mpi_request) :: requests(2)
    value = -1
    select case (thread)
    case (0)
      call mpi_recv(value, 1, mpi_integer, rank, 20, mpi_comm_world, status)
      call check('source', status%mpi_source, rank)
      call check('tag', status%mpi_tag, 20)
    case (1)
      call mpi_irecv(value, 1, mpi_integer, rank, 21, mpi_comm_world, requests(1))
      call mpi_wait(requests(1), mpi_status_ignore)
    case (2)
      call mpi_irecv(values(1), 1, mpi_integer, rank, 22, mpi_comm_world, requests(1))
      call mpi_irecv(values(2), 1, mpi_integer, rank, 122, mpi_comm_world, requests(2))
      call mpi_waitall(2, requests, statuses)
      call check('second tag', statuses(2)%mpi_tag, 122)
      value = values(2)
    case (3)
      call mpi_probe(rank, 23, mpi_comm_world, status)
      call check('probed', status%mpi_tag, 23)
      call mpi_recv(value, 1, mpi_integer, rank, 23, mpi_comm_world, mpi_status_ignore)
    case (4)
      call mpi_sendrecv(round, 1, mpi_integer, 1 - rank, 24, value, 1, mpi_integer, 1 - rank, 24, mpi_comm_world, status)
    case default
      do to = 3, 1, -1
        call mpi_send(round, 1, mpi_integer, rank, 20 + to, mpi_comm_world)
      end do
      call mpi_send(round, 1, mpi_integer, rank, 122, mpi_comm_world)
      call mpi_ssend(round, 1, mpi_integer, rank, 20, mpi_comm_world)
      value = round
    end select
    call check('value', value, round)
  end subroutine
end module

program fortran
  use mpi
  use omp_lib
  use counted
  use old_names, only: old_round
  use new_names, only: new_round
  implicit none
  integer :: level, rank, error, round, before
  call mpi_init_thread(mpi_thread_multiple, level, error)
  call check('thread level', level, mpi_thread_multiple)
  call mpi_comm_rank(mpi_comm_world, rank, error)
  before = rescues()
  do round = 1, rounds
    !$omp parallel num_threads(threads)
    call old_round(round, omp_get_thread_num(), rank)
    !$omp end parallel
  end do
  call check_rescues('use mpi', before)
  before = rescues()
  do round = 1, rounds
    !$omp parallel num_threads(threads)
    call new_round(round, omp_get_thread_num(), rank)
    !$omp end parallel
  end do
  call check_rescues('use mpi_f08', before)
  call mpi_finalize(error)
end program
