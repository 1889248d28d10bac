//! The figures of the runtime, in the layout that programs get them.
//!
//! What does not live here: counting, and reading the figures ([`super`]).

/// Declares [`Counters`] and its names from one list.
macro_rules! counters {
    ($( $(#[$meta:meta])* $name:ident, )*) => {
        /// The figures, in the layout of `ompx_counters_t` (`include/ompx.h`). New ones are added
        /// at the end.
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $( $(#[$meta])* pub $name: u64, )*
        }

        impl Counters {
            /// Names and values, in the order of the fields.
            pub fn named(&self) -> [(&'static str, u64); size_of::<Counters>() / 8] {
                [$( (stringify!($name), self.$name), )*]
            }
        }
    };
}

counters! {
    /// Parallel regions forked, those of one thread included.
    regions,
    /// Regions that were gang-scheduled.
    gangs,
    /// Threads that share workers and were started, of gangs and of other regions. Thread 0 does
    /// not count.
    gang_ults_run,
    /// Looks into the deque of another thread or worker.
    steal_attempts,
    /// Those that brought work.
    steal_successes,
    /// Those that another thief, or the owner, was quicker at.
    steals_aborted,
    /// Times that a worker was found stalled with work behind it.
    stalls,
    /// Signals sent to stalled workers.
    interrupts,
    /// OpenMP threads switched out by such a signal.
    preemptions,
    /// Times that a spare kernel thread took over the queues of a blocked worker.
    hand_offs,
    /// Calls of `sched_yield` that switched to another OpenMP thread.
    yields,
    /// TLS blocks (thread-local storage of parked kernel threads) made.
    donors,
    /// Context switches between user-level threads.
    switches,
    /// Kernel threads the pool has started.
    workers,
    /// Target regions sent to other ranks.
    regions_sent,
    /// Target regions run for other ranks.
    regions_served,
    /// Bytes copied to other ranks.
    bytes_sent,
    /// Bytes fetched from other ranks.
    bytes_fetched,
    /// Functions invoked, on this rank or another.
    invokes_sent,
    /// Functions run that were invoked or that an event fired.
    invokes_served,
    /// Target regions run here that had been placed on another device.
    regions_stolen,
    /// Times that this rank asked another one for regions.
    rank_steal_attempts,
    /// Those that brought regions.
    rank_steal_successes,
    /// Those that brought none.
    rank_steals_aborted,
    /// Bytes fetched from a rank for another one, to which a region's data went.
    bytes_between,
    /// Bytes of regions' data that their devices had already, by coherence.
    bytes_not_sent,
    /// Bytes of regions' results that were overwritten before the host could look, by coherence.
    bytes_not_fetched,
    /// Handlers invoked on mobile objects.
    object_invokes,
    /// Mobile objects that have left this rank for another one.
    objects_moved,
    /// Requests for mobile objects that were sent on, as the object was not here.
    object_forwards,
    /// Target regions queued on their device behind others that were not over.
    regions_chained,
    /// Target regions that waited for their turn on GPUs, or for their GPU, while others ran there.
    regions_waited,
    /// Those that another GPU than theirs took over.
    regions_taken_over,
    /// Blocks of arrays that were brought to devices ahead of time, unasked.
    blocks_ahead,
    /// Times that a thread moved to another worker, or back, because the number of workers follows the
    /// processors that the program gets.
    moves,
    /// How often the number of running workers has changed.
    worker_changes,
    /// Microseconds of the measured quanta in which fewer than all workers ran.
    fewer_workers_us,
}
