! ompx_lib: what Gangway offers beyond OpenMP, for Fortran 2003 and later. ompx.h, beside this file, says the same for C,
! with more words. Compile this file with the program's own compiler, `use ompx_lib`, and link with libgangway.so.
!
! All routines may be called by any thread at any time, inside and outside of parallel regions; none of them fails.
module ompx_lib
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_size_t
  implicit none
  private
  public :: ompx_counters_t, ompx_set_gang_sched, ompx_reset_gang_sched, ompx_get_counters, &
            ompx_cluster_rank, ompx_cluster_size

  ! What the runtime has done since the process was started: numbers of events, none ever shrinks.
  type, bind(c) :: ompx_counters_t
    integer(c_int64_t) :: regions = 0         ! parallel regions forked, those of one thread included
    integer(c_int64_t) :: gangs = 0           ! regions that were gang-scheduled
    integer(c_int64_t) :: gang_ults_run = 0   ! threads that share workers and were started, of gangs and of other regions
    integer(c_int64_t) :: steal_attempts = 0  ! looks into the deque of another thread or worker
    integer(c_int64_t) :: steal_successes = 0 ! those that brought work
    integer(c_int64_t) :: steals_aborted = 0  ! those where somebody else was quicker
    integer(c_int64_t) :: stalls = 0          ! times a worker was found stalled
    integer(c_int64_t) :: interrupts = 0      ! signals sent to stalled workers
    integer(c_int64_t) :: preemptions = 0     ! threads switched out by such a signal
    integer(c_int64_t) :: hand_offs = 0       ! times a spare kernel thread took over from a blocked worker
    integer(c_int64_t) :: yields = 0          ! calls of sched_yield that switched to another OpenMP thread
    integer(c_int64_t) :: donors = 0          ! identities (thread-local storage for threads that share workers) made
    integer(c_int64_t) :: switches = 0        ! context switches between user-level threads
    integer(c_int64_t) :: workers = 0         ! kernel threads the runtime has started
    integer(c_int64_t) :: regions_sent = 0    ! target regions sent to other MPI ranks
    integer(c_int64_t) :: regions_served = 0  ! target regions run for other MPI ranks
    integer(c_int64_t) :: bytes_sent = 0      ! bytes copied to other MPI ranks
    integer(c_int64_t) :: bytes_fetched = 0   ! bytes fetched from other MPI ranks
  end type

  interface
    ! All parallel regions that the calling task and the tasks it creates encounter from here on are gang-scheduled.
    subroutine ompx_set_gang_sched() bind(c, name='ompx_set_gang_sched')
    end subroutine

    ! Back to what OMP_GANG_SCHED said (not set: the runtime chooses).
    subroutine ompx_reset_gang_sched() bind(c, name='ompx_reset_gang_sched')
    end subroutine

    ! Writes the first `size` bytes of the counters to `out`, at most as many as the library knows, and returns how many
    ! it knows. Pass storage_size(out) / 8 (bytes) for `size`.
    function ompx_get_counters(out, size) bind(c, name='ompx_get_counters') result(known)
      import :: ompx_counters_t, c_size_t
      type(ompx_counters_t), intent(inout) :: out
      integer(c_size_t), value, intent(in) :: size
      integer(c_size_t) :: known
    end function

    ! The MPI rank of this process, and how many there are; 0 and 1 where it is alone (docs/mpi.md).
    function ompx_cluster_rank() bind(c, name='ompx_cluster_rank') result(rank)
      import :: c_int
      integer(c_int) :: rank
    end function
    function ompx_cluster_size() bind(c, name='ompx_cluster_size') result(ranks)
      import :: c_int
      integer(c_int) :: ranks
    end function
  end interface
end module
