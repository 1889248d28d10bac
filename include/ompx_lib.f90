! ompx_lib: what Gangway offers beyond OpenMP, for Fortran 2003 and later. ompx.h, beside this file, says the same for C,
! with more words. Compile this file with the program's own compiler, `use ompx_lib`, and link with libgangway.so.
!
! All routines may be called by any thread at any time, inside and outside of parallel regions. Those that can fail are functions
! whose result is 0, or negative as in ompx.h, with a line on standard error.
module ompx_lib
  use, intrinsic :: iso_c_binding, only: c_char, c_funptr, c_int, c_int32_t, c_int64_t, c_null_funptr, &
                                         c_null_ptr, c_ptr, c_size_t
  implicit none
  private
  public :: ompx_counters_t, ompx_set_gang_sched, ompx_reset_gang_sched, ompx_get_counters, ompx_describe, &
            ompx_cluster_rank, ompx_cluster_size, ompx_future_t, ompx_event_t, ompx_part_t, ompx_invoke, ompx_result_set, &
            ompx_future_create, ompx_future_set, ompx_future_test, ompx_future_wait, ompx_future_size, ompx_future_get, &
            ompx_future_free, ompx_event_create, ompx_event_satisfy, ompx_event_free, ompx_object_t, ompx_object_type_t, &
            ompx_read, ompx_write, ompx_object_create, ompx_object_create_typed, ompx_object_invoke, ompx_object_migrate, &
            ompx_object_free, ompx_event_satisfy_object, ompx_set_balance
  public :: ompx_ptask_t, ompx_tray_t, ompx_tray, ompx_entity, ompx_count_devices, ompx_ptask_create, ompx_ptask_count, &
            ompx_ptask_numbered, ompx_ptask_set, ompx_ptask_execute, ompx_ptask_wait, ompx_ptask_wait_all, ompx_ptask_free, &
            ompx_ptask_free_all, ompx_tray_alloc, ompx_tray_free, ompx_tray_free_all, ompx_tray_write, ompx_tray_read, &
            ompx_tray_size, ompx_tray_send_recv, ompx_tray_bcast, ompx_tray_scatter, ompx_tray_gather, ompx_tray_reduce, &
            ompx_tray_allreduce, ompx_tray_scatter_file, ompx_tray_gather_file, ompx_run_in, ompx_run_inout, ompx_run_out, &
            ompx_run_task, ompx_dist_alloc, ompx_dist_free, ompx_dist_rank, ompx_dist_device, ompx_dist_get, ompx_dist_put, &
            ompx_set_task_data
  public :: ompx_access_t, ompx_in, ompx_out, ompx_inout, ompx_mutexinoutset, ompx_inoutset, ompx_cuda_stream, &
            ompx_cuda_stream_on, ompx_set_task_stream, ompx_set_task_pool, ompx_cuda_task, ompx_device_any_gpu, &
            ompx_device_any_rank, ompx_device_rank, ompx_device_kind, ompx_device_set, ompx_device_near, ompx_device_of
  public :: ompx_taskgraph_begin, ompx_taskgraph_end, ompx_taskgraph_is_ready, ompx_taskgraph_destroy
  public :: ompx_versions_t, ompx_task_versions
  public :: ompx_use_t, ompx_array_create, ompx_array_destroy, ompx_array_host, ompx_array_use, ompx_array_pointer, ompx_prefetch

  ! A block of a coherent array, and what a task does with it on a device.
  type, bind(c) :: ompx_use_t
    type(c_ptr) :: address
    integer(c_int) :: kind
    integer(c_int) :: device
  end type

  ! A dependence of a task made by ompx_cuda_task, and its kinds.
  type, bind(c) :: ompx_access_t
    type(c_ptr) :: address
    integer(c_int) :: kind
  end type
  integer(c_int), parameter :: ompx_in = 1, ompx_out = 2, ompx_inout = 3, ompx_mutexinoutset = 4, ompx_inoutset = 8

  ! The versions of a task: c_funloc of integer(c_int) functions fn(device, stream, args) bind(c), with integer(c_int), value :: device and
  ! type(c_ptr), value :: stream, args; c_null_funptr where there is none. sizes: c_loc of an integer(c_size_t) for each access, or c_null_ptr.
  type, bind(c) :: ompx_versions_t
    integer(c_size_t) :: size = 4 * storage_size(0_c_size_t) / 8
    type(c_funptr) :: host = c_null_funptr, gpu = c_null_funptr
    type(c_ptr) :: sizes = c_null_ptr
  end type

  ! What the runtime has done since the process was started: numbers of events, bytes and times, none ever shrinks.
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
    integer(c_int64_t) :: invokes_sent = 0    ! functions invoked, on this rank or another
    integer(c_int64_t) :: invokes_served = 0  ! functions run here that were invoked, that an event fired, or that a persistent task executed
    integer(c_int64_t) :: regions_stolen = 0  ! target regions run here that had been placed on another device
    integer(c_int64_t) :: rank_steal_attempts = 0  ! times that this rank asked another one for such regions
    integer(c_int64_t) :: rank_steal_successes = 0 ! those that brought some
    integer(c_int64_t) :: rank_steals_aborted = 0  ! those that brought none
    integer(c_int64_t) :: bytes_between = 0        ! bytes fetched from a rank by another one, to which a region's data went
    integer(c_int64_t) :: bytes_not_sent = 0       ! bytes of regions' data that their devices had already (OMPX_COHERENCE)
    integer(c_int64_t) :: bytes_not_fetched = 0    ! bytes of regions' results that were overwritten before the host could look
    integer(c_int64_t) :: object_invokes = 0  ! handlers invoked on mobile objects (ompx_object_invoke)
    integer(c_int64_t) :: objects_moved = 0  ! mobile objects that have left this rank for another one
    integer(c_int64_t) :: object_forwards = 0  ! requests for mobile objects that were sent on, as the object was not here
    integer(c_int64_t) :: regions_chained = 0  ! target regions, and tasks with streams, queued on their device behind others that were not over
    integer(c_int64_t) :: regions_waited = 0   ! target regions and device tasks whose GPU the runtime chooses that waited until they could be placed, or begin
    integer(c_int64_t) :: regions_taken_over = 0 ! those that began on another GPU than the one they waited for, which had nothing to do
    integer(c_int64_t) :: blocks_ahead = 0     ! blocks of arrays brought to devices ahead of time that nobody asked for (docs/arrays.md)
    integer(c_int64_t) :: moves = 0            ! times that a thread moved to another worker, or back (GANGWAY_WORKERS)
    integer(c_int64_t) :: worker_changes = 0   ! times that the number of running workers has changed (GANGWAY_WORKERS)
    integer(c_int64_t) :: fewer_workers_us = 0 ! microseconds of measured time with fewer than all workers
  end type

  ! A future, and an event: plain numbers, which may be copied and sent (docs/remote.md).
  type, bind(c) :: ompx_future_t
    integer(c_int32_t) :: rank = 0, id = 0
    integer(c_int64_t) :: generation = 0
  end type
  type, bind(c) :: ompx_event_t
    integer(c_int32_t) :: rank = 0, id = 0
    integer(c_int64_t) :: generation = 0
  end type

  ! A mobile object: plain numbers, too (docs/objects.md).
  type, bind(c) :: ompx_object_t
    integer(c_int32_t) :: rank = 0, id = 0
    integer(c_int64_t) :: generation = 0
  end type
  ! The functions of a type of objects, c_funloc of procedures with bind(c). A module variable with the attribute target: it has to stay, at the same place on every rank.
  type, bind(c) :: ompx_object_type_t
    type(c_funptr) :: pack, unpack, free
  end type
  ! How a handler uses its object.
  integer(c_int), parameter :: ompx_read = 1, ompx_write = 2

  ! What came with a dependence of an event.
  type, bind(c) :: ompx_part_t
    type(c_ptr) :: bytes
    integer(c_size_t) :: size
  end type

  ! A persistent task, and a tray of one: plain numbers (docs/persistent.md).
  type, bind(c) :: ompx_ptask_t
    integer(c_int32_t) :: rank = 0, id = 0
    integer(c_int64_t) :: generation = 0
  end type
  type, bind(c) :: ompx_tray_t
    type(ompx_ptask_t) :: task
    integer(c_int32_t) :: tray = 0, reserved = 0
  end type

  ! Types of elements; ompx_entity(bytes) is a derived type of so many bytes.
  integer(c_int64_t), parameter, public :: ompx_byte = 256, ompx_int8 = 257, ompx_int16 = 513, ompx_int32 = 1025, &
      ompx_int64 = 2049, ompx_float = 1027, ompx_double = 2051
  ! How they are combined.
  integer(c_int), parameter, public :: ompx_sum = 0, ompx_prod = 1, ompx_min = 2, ompx_max = 3, ompx_and = 4, ompx_or = 5, &
      ompx_xor = 6, ompx_band = 7, ompx_bor = 8, ompx_bxor = 9, ompx_user = 10
  integer(c_int), parameter, public :: ompx_cpu = 1, ompx_gpu = 2, ompx_all_devices = 3, ompx_any_rank = -1, ompx_owner = -1

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

    ! Writes what the library knows about itself and the machine to `out`, as lines name=value, at most `size` bytes with a zero
    ! byte at the end, and returns how many there are without it. c_null_ptr and 0 ask for that alone.
    function ompx_describe(out, size) bind(c, name='ompx_describe') result(bytes)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: out
      integer(c_size_t), value, intent(in) :: size
      integer(c_size_t) :: bytes
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

    ! Runs a subroutine fn(args, bytes, result) bind(c), with type(c_ptr), value :: args, result and integer(c_size_t),
    ! value :: bytes, on a rank. c_loc(future) gets the future of its value; c_null_ptr: none is wanted.
    function ompx_invoke(rank, fn, args, bytes, future) bind(c, name='ompx_invoke') result(code)
      import :: c_int, c_funptr, c_ptr, c_size_t
      integer(c_int), value, intent(in) :: rank
      type(c_funptr), value, intent(in) :: fn
      type(c_ptr), value, intent(in) :: args, future
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    ! The value of the running function.
    function ompx_result_set(result, data, bytes) bind(c, name='ompx_result_set') result(code)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: result, data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function

    ! Streams of GPUs for tasks: c_null_ptr if there is none.
    function ompx_cuda_stream() bind(c, name='ompx_cuda_stream') result(stream)
      import :: c_ptr
      type(c_ptr) :: stream
    end function
    function ompx_cuda_stream_on(device) bind(c, name='ompx_cuda_stream_on') result(stream)
      import :: c_int, c_ptr
      integer(c_int), value, intent(in) :: device
      type(c_ptr) :: stream
    end function
    ! The next task only puts work on streams, of this device.
    function ompx_set_task_stream(device) bind(c, name='ompx_set_task_stream') result(code)
      import :: c_int
      integer(c_int), value, intent(in) :: device
      integer(c_int) :: code
    end function
    ! The next task may be run by any thread.
    function ompx_set_task_pool() bind(c, name='ompx_set_task_pool') result(code)
      import :: c_int
      integer(c_int) :: code
    end function
    function ompx_device_any_gpu() bind(c, name='ompx_device_any_gpu') result(device)
      import :: c_int
      integer(c_int) :: device
    end function
    ! One of these devices.
    function ompx_device_set(devices, count) bind(c, name='ompx_device_set') result(device)
      import :: c_int
      integer(c_int), intent(in) :: devices(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: device
    end function
    ! One that has what is at this address; the one where that was written. For the next target region.
    function ompx_device_near(address) bind(c, name='ompx_device_near') result(device)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: address
      integer(c_int) :: device
    end function
    function ompx_device_of(address) bind(c, name='ompx_device_of') result(device)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: address
      integer(c_int) :: device
    end function
    function ompx_device_any_rank() bind(c, name='ompx_device_any_rank') result(device)
      import :: c_int
      integer(c_int) :: device
    end function
    function ompx_device_rank(device) bind(c, name='ompx_device_rank') result(rank)
      import :: c_int
      integer(c_int), value, intent(in) :: device
      integer(c_int) :: rank
    end function
    function ompx_device_kind(device) bind(c, name='ompx_device_kind') result(kind)
      import :: c_int
      integer(c_int), value, intent(in) :: device
      integer(c_int) :: kind
    end function
    ! Runs an integer(c_int) function fn(stream, args) bind(c), with type(c_ptr), value :: stream, args, as a task that ends with its work on the
    ! stream. accesses: c_loc of an array of ompx_access_t; future: c_loc of one, or c_null_ptr. With ompx_device_any_gpu() it takes turns
    ! with other work whose GPU the runtime chooses.
    function ompx_cuda_task(device, fn, args, bytes, accesses, count, future) bind(c, name='ompx_cuda_task') result(code)
      import :: c_int, c_funptr, c_ptr, c_size_t
      integer(c_int), value, intent(in) :: device, count
      type(c_funptr), value, intent(in) :: fn
      type(c_ptr), value, intent(in) :: args, accesses, future
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    ! The same with a function for the host and one for GPUs, of which the runtime chooses one.
    function ompx_task_versions(device, versions, args, bytes, accesses, count, future) &
        bind(c, name='ompx_task_versions') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_versions_t
      integer(c_int), value, intent(in) :: device, count
      type(ompx_versions_t), intent(in) :: versions
      type(c_ptr), value, intent(in) :: args, accesses, future
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function

    ! Graphs of tasks that are made once and run many times. graph: a type(c_ptr) with the save attribute, c_null_ptr at first.
    function ompx_taskgraph_begin(graph) bind(c, name='ompx_taskgraph_begin') result(make)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: graph
      integer(c_int) :: make
    end function
    subroutine ompx_taskgraph_end(graph) bind(c, name='ompx_taskgraph_end')
      import :: c_ptr
      type(c_ptr), intent(inout) :: graph
    end subroutine
    function ompx_taskgraph_is_ready(graph) bind(c, name='ompx_taskgraph_is_ready') result(ready)
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: graph
      integer(c_int) :: ready
    end function
    subroutine ompx_taskgraph_destroy(graph) bind(c, name='ompx_taskgraph_destroy')
      import :: c_ptr
      type(c_ptr), intent(inout) :: graph
    end subroutine

    ! Coherent arrays. Storage: c_loc of it, or c_null_ptr for new one; sizes in bytes.
    function ompx_array_create(storage, bytes, block) bind(c, name='ompx_array_create') result(array)
      import :: c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: storage
      integer(c_size_t), value, intent(in) :: bytes, block
      type(c_ptr) :: array
    end function
    function ompx_array_destroy(array) bind(c, name='ompx_array_destroy') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: array
      integer(c_int) :: code
    end function
    ! The host may read the bytes, or, with another kind than ompx_in, write them until the calling task ends. Each task that writes calls it.
    function ompx_array_host(address, bytes, kind) bind(c, name='ompx_array_host') result(code)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: address
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int), value, intent(in) :: kind
      integer(c_int) :: code
    end function
    ! The calling task uses blocks until its end. uses: c_loc of an array of ompx_use_t.
    function ompx_array_use(uses, count) bind(c, name='ompx_array_use') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: uses
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_array_pointer(address, device) bind(c, name='ompx_array_pointer') result(there)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: address
      integer(c_int), value, intent(in) :: device
      type(c_ptr) :: there
    end function
    ! The device gets copies of blocks ahead of time. future: c_loc of one, or c_null_ptr.
    function ompx_prefetch(address, bytes, device, future) bind(c, name='ompx_prefetch') result(code)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: address, future
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int), value, intent(in) :: device
      integer(c_int) :: code
    end function

    function ompx_future_create(future) bind(c, name='ompx_future_create') result(code)
      import :: c_int, ompx_future_t
      type(ompx_future_t), intent(out) :: future
      integer(c_int) :: code
    end function
    function ompx_future_set(future, data, bytes) bind(c, name='ompx_future_set') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    ! 1 if the value is there, 0 if not yet.
    function ompx_future_test(future) bind(c, name='ompx_future_test') result(code)
      import :: c_int, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      integer(c_int) :: code
    end function
    function ompx_future_wait(future) bind(c, name='ompx_future_wait') result(code)
      import :: c_int, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      integer(c_int) :: code
    end function
    function ompx_future_size(future, bytes) bind(c, name='ompx_future_size') result(code)
      import :: c_int, c_size_t, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      integer(c_size_t), intent(out) :: bytes
      integer(c_int) :: code
    end function
    function ompx_future_get(future, into, bytes) bind(c, name='ompx_future_get') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      type(c_ptr), value, intent(in) :: into
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    function ompx_future_free(future) bind(c, name='ompx_future_free') result(code)
      import :: c_int, ompx_future_t
      type(ompx_future_t), value, intent(in) :: future
      integer(c_int) :: code
    end function

    ! The function: subroutine fn(data, bytes, parts, count) bind(c), with type(c_ptr), value :: data, parts (count times
    ! ompx_part_t) and integer(c_size_t), value :: bytes, count.
    function ompx_event_create(dependences, fn, data, bytes, event) bind(c, name='ompx_event_create') result(code)
      import :: c_int, c_int32_t, c_funptr, c_ptr, c_size_t, ompx_event_t
      integer(c_int32_t), value, intent(in) :: dependences
      type(c_funptr), value, intent(in) :: fn
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      type(ompx_event_t), intent(out) :: event
      integer(c_int) :: code
    end function
    ! slot: 0 to dependences - 1, or -1: the first that is not satisfied.
    function ompx_event_satisfy(event, slot, data, bytes) bind(c, name='ompx_event_satisfy') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_event_t
      type(ompx_event_t), value, intent(in) :: event
      integer(c_int), value, intent(in) :: slot
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    function ompx_object_create(data, bytes, object) bind(c, name='ompx_object_create') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_object_t
      type(c_ptr), value, intent(in) :: data
      integer(c_size_t), value, intent(in) :: bytes
      type(ompx_object_t), intent(out) :: object
      integer(c_int) :: code
    end function
    function ompx_object_create_typed(type, data, object) bind(c, name='ompx_object_create_typed') result(code)
      import :: c_int, c_ptr, ompx_object_t, ompx_object_type_t
      type(ompx_object_type_t), intent(in) :: type
      type(c_ptr), value, intent(in) :: data
      type(ompx_object_t), intent(out) :: object
      integer(c_int) :: code
    end function
    ! The function: subroutine fn(object, data, args, bytes, result) bind(c), with type(ompx_object_t), value :: object,
    ! type(c_ptr), value :: data, args, result and integer(c_size_t), value :: bytes. mode: ompx_read or ompx_write.
    function ompx_object_invoke(object, mode, fn, args, bytes, future) bind(c, name='ompx_object_invoke') result(code)
      import :: c_int, c_funptr, c_ptr, c_size_t, ompx_object_t
      type(ompx_object_t), value, intent(in) :: object
      integer(c_int), value, intent(in) :: mode
      type(c_funptr), value, intent(in) :: fn
      type(c_ptr), value, intent(in) :: args, future
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    function ompx_object_migrate(object, rank) bind(c, name='ompx_object_migrate') result(code)
      import :: c_int, ompx_object_t
      type(ompx_object_t), value, intent(in) :: object
      integer(c_int), value, intent(in) :: rank
      integer(c_int) :: code
    end function
    function ompx_object_free(object) bind(c, name='ompx_object_free') result(code)
      import :: c_int, ompx_object_t
      type(ompx_object_t), value, intent(in) :: object
      integer(c_int) :: code
    end function
    function ompx_event_satisfy_object(event, slot, object) bind(c, name='ompx_event_satisfy_object') result(code)
      import :: c_int, ompx_event_t, ompx_object_t
      type(ompx_event_t), value, intent(in) :: event
      integer(c_int), value, intent(in) :: slot
      type(ompx_object_t), value, intent(in) :: object
      integer(c_int) :: code
    end function
    ! amount: "off", "half" or "one", with c_null_char behind.
    function ompx_set_balance(amount) bind(c, name='ompx_set_balance') result(code)
      import :: c_char, c_int
      character(kind=c_char), intent(in) :: amount(*)
      integer(c_int) :: code
    end function
    function ompx_event_free(event) bind(c, name='ompx_event_free') result(code)
      import :: c_int, ompx_event_t
      type(ompx_event_t), value, intent(in) :: event
      integer(c_int) :: code
    end function

    ! Persistent tasks and trays (docs/persistent.md). A procedure: subroutine fn(run, args, bytes) bind(c), with type(c_ptr), value :: run,
    ! args and integer(c_size_t), value :: bytes. Names of files end with c_null_char.
    function ompx_count_devices(kinds) bind(c, name='ompx_count_devices') result(code)
      import :: c_int
      integer(c_int), value, intent(in) :: kinds
      integer(c_int) :: code
    end function
    function ompx_ptask_create(rank, count, tasks) bind(c, name='ompx_ptask_create') result(code)
      import :: c_int, ompx_ptask_t
      integer(c_int), value, intent(in) :: rank
      integer(c_int), value, intent(in) :: count
      type(ompx_ptask_t), intent(inout) :: tasks(*)
      integer(c_int) :: code
    end function
    function ompx_ptask_count() bind(c, name='ompx_ptask_count') result(code)
      import :: c_int
      integer(c_int) :: code
    end function
    ! number: from 0, as in the file.
    function ompx_ptask_numbered(number, task) bind(c, name='ompx_ptask_numbered') result(code)
      import :: c_int, ompx_ptask_t
      integer(c_int), value, intent(in) :: number
      type(ompx_ptask_t), intent(out) :: task
      integer(c_int) :: code
    end function
    function ompx_ptask_set(task, fn) bind(c, name='ompx_ptask_set') result(code)
      import :: c_funptr, c_int, ompx_ptask_t
      type(ompx_ptask_t), value, intent(in) :: task
      type(c_funptr), value, intent(in) :: fn
      integer(c_int) :: code
    end function
    function ompx_ptask_execute(task, args, bytes) bind(c, name='ompx_ptask_execute') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_ptask_t
      type(ompx_ptask_t), value, intent(in) :: task
      type(c_ptr), value, intent(in) :: args
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    function ompx_ptask_wait(tasks, count) bind(c, name='ompx_ptask_wait') result(code)
      import :: c_int, ompx_ptask_t
      type(ompx_ptask_t), intent(in) :: tasks(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_ptask_wait_all() bind(c, name='ompx_ptask_wait_all') result(code)
      import :: c_int
      integer(c_int) :: code
    end function
    function ompx_ptask_free(task) bind(c, name='ompx_ptask_free') result(code)
      import :: c_int, ompx_ptask_t
      type(ompx_ptask_t), value, intent(in) :: task
      integer(c_int) :: code
    end function
    function ompx_ptask_free_all() bind(c, name='ompx_ptask_free_all') result(code)
      import :: c_int
      integer(c_int) :: code
    end function
    function ompx_tray_alloc(tray, kind, count) bind(c, name='ompx_tray_alloc') result(code)
      import :: c_int, c_int64_t, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: tray
      integer(c_int64_t), value, intent(in) :: kind
      integer(c_int64_t), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_tray_free(tray) bind(c, name='ompx_tray_free') result(code)
      import :: c_int, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: tray
      integer(c_int) :: code
    end function
    function ompx_tray_free_all(task) bind(c, name='ompx_tray_free_all') result(code)
      import :: c_int, ompx_ptask_t
      type(ompx_ptask_t), value, intent(in) :: task
      integer(c_int) :: code
    end function
    function ompx_tray_write(tray, kind, count, from) bind(c, name='ompx_tray_write') result(code)
      import :: c_int, c_int64_t, c_ptr, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: tray
      integer(c_int64_t), value, intent(in) :: kind
      integer(c_int64_t), value, intent(in) :: count
      type(c_ptr), value, intent(in) :: from
      integer(c_int) :: code
    end function
    function ompx_tray_read(tray, into, bytes) bind(c, name='ompx_tray_read') result(code)
      import :: c_int, c_ptr, c_size_t, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: tray
      type(c_ptr), value, intent(in) :: into
      integer(c_size_t), value, intent(in) :: bytes
      integer(c_int) :: code
    end function
    function ompx_tray_size(tray, bytes, kind) bind(c, name='ompx_tray_size') result(code)
      import :: c_int, c_int64_t, c_size_t, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: tray
      integer(c_size_t), intent(out) :: bytes
      integer(c_int64_t), intent(out) :: kind
      integer(c_int) :: code
    end function
    function ompx_tray_send_recv(from, into) bind(c, name='ompx_tray_send_recv') result(code)
      import :: c_int, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: from
      type(ompx_tray_t), value, intent(in) :: into
      integer(c_int) :: code
    end function
    function ompx_tray_bcast(from, into, count) bind(c, name='ompx_tray_bcast') result(code)
      import :: c_int, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: from
      type(ompx_tray_t), intent(in) :: into(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_tray_scatter(from, into, count) bind(c, name='ompx_tray_scatter') result(code)
      import :: c_int, ompx_tray_t
      type(ompx_tray_t), value, intent(in) :: from
      type(ompx_tray_t), intent(in) :: into(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_tray_gather(from, count, into) bind(c, name='ompx_tray_gather') result(code)
      import :: c_int, ompx_tray_t
      type(ompx_tray_t), intent(in) :: from(*)
      integer(c_int), value, intent(in) :: count
      type(ompx_tray_t), value, intent(in) :: into
      integer(c_int) :: code
    end function
    ! fn: c_null_funptr, but for ompx_user: subroutine fn(into, from, count) bind(c), with type(c_ptr), value :: into, from.
    function ompx_tray_reduce(from, count, into, kind, op, fn) bind(c, name='ompx_tray_reduce') result(code)
      import :: c_funptr, c_int, c_int64_t, ompx_tray_t
      type(ompx_tray_t), intent(in) :: from(*)
      integer(c_int), value, intent(in) :: count
      type(ompx_tray_t), value, intent(in) :: into
      integer(c_int64_t), value, intent(in) :: kind
      integer(c_int), value, intent(in) :: op
      type(c_funptr), value, intent(in) :: fn
      integer(c_int) :: code
    end function
    function ompx_tray_allreduce(from, into, count, kind, op, fn) bind(c, name='ompx_tray_allreduce') result(code)
      import :: c_funptr, c_int, c_int64_t, ompx_tray_t
      type(ompx_tray_t), intent(in) :: from(*)
      type(ompx_tray_t), intent(in) :: into(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: kind
      integer(c_int), value, intent(in) :: op
      type(c_funptr), value, intent(in) :: fn
      integer(c_int) :: code
    end function
    function ompx_tray_scatter_file(path, kind, into, count) bind(c, name='ompx_tray_scatter_file') result(code)
      import :: c_char, c_int, c_int64_t, ompx_tray_t
      character(c_char), intent(in) :: path(*)
      integer(c_int64_t), value, intent(in) :: kind
      type(ompx_tray_t), intent(in) :: into(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int) :: code
    end function
    function ompx_tray_gather_file(from, count, kind, path) bind(c, name='ompx_tray_gather_file') result(code)
      import :: c_char, c_int, c_int64_t, ompx_tray_t
      type(ompx_tray_t), intent(in) :: from(*)
      integer(c_int), value, intent(in) :: count
      integer(c_int64_t), value, intent(in) :: kind
      character(c_char), intent(in) :: path(*)
      integer(c_int) :: code
    end function
    ! In procedures, with what they got as run: where a tray is (c_f_pointer makes an array of it).
    function ompx_run_in(run, tray, bytes) bind(c, name='ompx_run_in') result(at)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: run
      integer(c_int32_t), value, intent(in) :: tray
      integer(c_size_t), intent(out) :: bytes
      type(c_ptr) :: at
    end function
    function ompx_run_inout(run, tray, bytes) bind(c, name='ompx_run_inout') result(at)
      import :: c_int32_t, c_ptr, c_size_t
      type(c_ptr), value, intent(in) :: run
      integer(c_int32_t), value, intent(in) :: tray
      integer(c_size_t), intent(out) :: bytes
      type(c_ptr) :: at
    end function
    function ompx_run_out(run, tray, kind, count) bind(c, name='ompx_run_out') result(at)
      import :: c_int32_t, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: run
      integer(c_int32_t), value, intent(in) :: tray
      integer(c_int64_t), value, intent(in) :: kind, count
      type(c_ptr) :: at
    end function
    function ompx_run_task(run) bind(c, name='ompx_run_task') result(task)
      import :: c_ptr, ompx_ptask_t
      type(c_ptr), value, intent(in) :: run
      type(ompx_ptask_t) :: task
    end function

    ! Distributed memory: elements are numbered from 0; c_f_pointer makes an array of `memory`.
    function ompx_dist_alloc(count, kind, block, memory) bind(c, name='ompx_dist_alloc') result(code)
      import :: c_int, c_int64_t, c_ptr
      integer(c_int64_t), value, intent(in) :: count, kind, block
      type(c_ptr), intent(out) :: memory
      integer(c_int) :: code
    end function
    function ompx_dist_free(memory) bind(c, name='ompx_dist_free') result(code)
      import :: c_int, c_ptr
      type(c_ptr), value, intent(in) :: memory
      integer(c_int) :: code
    end function
    function ompx_dist_rank(memory, index) bind(c, name='ompx_dist_rank') result(rank)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: memory
      integer(c_int64_t), value, intent(in) :: index
      integer(c_int) :: rank
    end function
    function ompx_dist_device(memory, index) bind(c, name='ompx_dist_device') result(device)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: memory
      integer(c_int64_t), value, intent(in) :: index
      integer(c_int) :: device
    end function
    function ompx_set_task_data(memory, index, count) bind(c, name='ompx_set_task_data') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: memory
      integer(c_int64_t), value, intent(in) :: index, count
      integer(c_int) :: code
    end function
    function ompx_dist_get(memory, rank, index, count, into) bind(c, name='ompx_dist_get') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: memory, into
      integer(c_int), value, intent(in) :: rank
      integer(c_int64_t), value, intent(in) :: index, count
      integer(c_int) :: code
    end function
    function ompx_dist_put(memory, rank, index, count, from) bind(c, name='ompx_dist_put') result(code)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value, intent(in) :: memory, from
      integer(c_int), value, intent(in) :: rank
      integer(c_int64_t), value, intent(in) :: index, count
      integer(c_int) :: code
    end function
  end interface
contains
  ! A tray of a task.
  pure function ompx_tray(task, number) result(tray)
    type(ompx_ptask_t), intent(in) :: task
    integer, intent(in) :: number
    type(ompx_tray_t) :: tray
    tray = ompx_tray_t(task, int(number, c_int32_t), 0_c_int32_t)
  end function

  ! The type of elements of so many bytes, which a reduction knows nothing of.
  pure function ompx_entity(bytes) result(kind)
    integer(c_size_t), intent(in) :: bytes
    integer(c_int64_t) :: kind
    kind = 256 * int(bytes, c_int64_t)
  end function
end module
