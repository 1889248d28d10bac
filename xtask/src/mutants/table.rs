//! The mutants: what each does wrong, and the programs that ought to notice.
//!
//! The names are those behind the `or` of a `seam!` in the sources. A program is a path below
//! `abi-tests/`, the beginning of a compiler's name, and a number of threads; the first is the
//! likeliest to notice.

/// A deliberate mistake.
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// What goes wrong.
    pub what: &'static str,
    /// Who ought to notice: program, compiler, `OMP_NUM_THREADS`.
    pub programs: &'static [(&'static str, &'static str, u32)],
    /// The unit tests of `ult` that ought to notice where programs may not: what goes wrong is
    /// remedied elsewhere.
    pub unit_tests: Option<&'static str>,
}

const fn mutant(
    name: &'static str,
    what: &'static str,
    programs: &'static [(&'static str, &'static str, u32)],
) -> Mutant {
    Mutant { name, what, programs, unit_tests: None }
}

/// All of them.
pub const MUTANTS: &[Mutant] = &[
    // ---- worksharing
    mutant(
        "static_skips_last",
        "a static loop loses its last iteration",
        &[("loops/schedules_int.c", "clang-19", 3)],
    ),
    mutant(
        "dynamic_skips_last",
        "a dynamic loop loses its last iteration",
        &[("loops/schedules_int.c", "gcc", 3)],
    ),
    mutant(
        "guided_skips_last",
        "a guided loop loses its last iteration",
        &[("loops/schedules_int.c", "gcc", 3)],
    ),
    mutant(
        "reserves_not_stolen",
        "chunks that a thread has reserved wait for it",
        &[("loops/nonmonotonic_balance.c", "gcc", 4)],
    ),
    mutant(
        "last_chunk_first",
        "a thread steals chunks after the last one, and lastprivate keeps theirs",
        &[("loops/lastprivate_stolen.c", "clang-19", 2), ("loops/lastprivate_stolen.c", "gcc", 2)],
    ),
    mutant(
        "iteration_twice",
        "a chunk begins with the last iteration of the one before",
        &[("loops/uneven.c", "gcc", 4)],
    ),
    mutant("sections_skip_last", "the last section does not run", &[("sync/sections.c", "gcc", 4)]),
    mutant(
        "schedule_runtime_ignored",
        "schedule(runtime) is static whatever was asked for",
        &[("loops/runtime_schedule.c", "gcc", 4)],
    ),
    mutant(
        "lastprivate_forgotten",
        "no chunk is the last one",
        &[("loops/lastprivate_dynamic.c", "clang-19", 4), ("loops/lastprivate.c", "clang-19", 4)],
    ),
    mutant(
        "ordered_out_of_order",
        "ordered regions do not wait for their turn",
        &[("sync/ordered.c", "gcc", 4), ("sync/ordered.c", "clang-19", 4)],
    ),
    mutant(
        "doacross_wait_returns",
        "a doacross sink does not wait",
        &[("loops/doacross.c", "gcc", 4), ("loops/doacross.c", "clang-19", 4)],
    ),
    mutant(
        "ring_entry_freed_early",
        "a construct's state is reused while threads are inside",
        &[("loops/nowait_many.c", "gcc", 4)],
    ),
    mutant("single_twice", "two threads run a single block", &[("sync/single_copyprivate.c", "gcc", 4)]),
    mutant(
        "copyprivate_not_copied",
        "copyprivate leaves the others' variables as they were",
        &[("sync/single_copyprivate.c", "clang-19", 4)],
    ),
    mutant(
        "reduction_loses_thread",
        "a tree reduction leaves thread 1 out",
        &[("reductions/operators.c", "clang-19", 8), ("reductions/many_threads.c", "clang-19", 8)],
    ),
    // ---- synchronisation
    mutant(
        "barrier_passed_early",
        "thread 1 does not wait at barriers",
        &[("parallel/basic.c", "gcc", 4), ("sync/master_barrier.c", "gcc", 4)],
    ),
    mutant("barrier_ignores_tasks", "barriers do not wait for tasks", &[("tasks/basic.c", "gcc", 4)]),
    mutant(
        "agents_not_awaited",
        "barriers do not wait where there are free agents",
        &[("tasks/free_agents.c", "gcc", 4)],
    ),
    mutant("agents_take_any", "free agents run tasks of the team", &[("tasks/free_agents.c", "gcc", 4)]),
    mutant(
        "critical_shared",
        "critical does not exclude",
        &[("sync/exclusion.c", "gcc", 4), ("sync/exclusion.c", "clang-19", 4)],
    ),
    mutant(
        "atomic_shared",
        "atomics that call the library do not exclude",
        &[("sync/exclusion.c", "gcc", 8)],
    ),
    mutant(
        "lock_misuse_not_reported",
        "GANGWAY_CHECK says nothing of locks",
        &[("check/lock_misuse.c", "gcc", 2)],
    ),
    mutant(
        "sync_point_not_reported",
        "GANGWAY_CHECK says nothing of threads that wait in different places",
        &[("check/meetings.c", "gcc", 4), ("check/two_barriers.c", "clang-19", 2)],
    ),
    mutant(
        "event_not_reported",
        "GANGWAY_CHECK says nothing of events that nobody fulfils",
        &[("check/event_never.c", "gcc", 3)],
    ),
    mutant(
        "circle_not_reported",
        "GANGWAY_CHECK does not see tasks that wait for each other",
        &[("check/circles.c", "gcc", 3)],
    ),
    mutant(
        "standstill_not_reported",
        "GANGWAY_CHECK says nothing of standstills",
        &[("check/standstill.c", "gcc", 3)],
    ),
    mutant("lock_shared", "a held lock can be taken", &[("sync/locks.c", "gcc", 4)]),
    mutant(
        "lock_handed_to_two",
        "a lock that is handed over is also free",
        &[("sync/lock_handed_over.c", "gcc", 4)],
    ),
    mutant(
        "lock_queue_forgotten",
        "a lock that is handed over forgets who else waits",
        &[("sync/lock_handed_over.c", "gcc", 8)],
    ),
    mutant(
        "lock_nudge_kept",
        "a waiter that lost a lock stays nudged, so no release wakes it",
        &[("sync/lock_last_release.c", "gcc", 2)],
    ),
    mutant("lock_unfair", "a lock is never handed over", &[("sync/lock_handed_over.c", "gcc", 2)]),
    mutant(
        "child_inherits_locks",
        "a critical or atomic that another thread was in stays taken in the child of a fork",
        &[("process/fork_locks.c", "gcc", 3)],
    ),
    mutant(
        "nest_lock_counts_wrong",
        "setting a nestable lock again counts twice",
        &[("sync/locks.c", "gcc", 4)],
    ),
    mutant(
        "wake_up_lost",
        "sleeping workers are not woken",
        &[
            ("parallel/sleepers.c", "gcc", 2),
            ("parallel/sleepers.c", "gcc", 4),
            ("parallel/repeat.c", "gcc", 4),
            ("tasks/wake.c", "gcc", 4),
        ],
    ),
    // ---- tasks
    mutant("in_to_out_lost", "out does not wait for in", &[("tasks/depend.c", "gcc", 4)]),
    mutant("out_to_in_lost", "in does not wait for out", &[("tasks/depend.c", "gcc", 4)]),
    mutant("out_to_out_lost", "out does not wait for out", &[("tasks/dag.c", "gcc", 4)]),
    mutant(
        "mutexinoutset_shared",
        "mutexinoutset does not exclude",
        &[("tasks/depend_mutex_long.c", "gcc", 4)],
    ),
    mutant("inoutset_as_in", "inoutset is taken for in", &[("tasks/depend_inoutset.c", "clang-19", 4)]),
    mutant(
        "all_memory_ignored",
        "omp_all_memory is no dependence",
        &[("tasks/depend_all_memory.c", "clang-19", 4)],
    ),
    mutant(
        "taskgraph_edge_lost",
        "tasks of a graph that is run again do not wait for those before them",
        &[("tasks/taskgraph.c", "clang-19", 4), ("tasks/taskgraph.c", "gcc", 4)],
    ),
    mutant(
        "taskgraph_data_shared",
        "tasks of a graph that is run again use the data of the first time",
        &[("tasks/taskgraph.c", "gcc", 4), ("tasks/taskgraph.c", "clang-19", 4)],
    ),
    mutant(
        "undeferred_ignores_depend",
        "an undeferred task and taskwait depend do not wait",
        &[("tasks/depend.c", "gcc", 4), ("tasks/depend.c", "clang-19", 4)],
    ),
    mutant(
        "taskwait_misses_last_child",
        "taskwait returns with one child incomplete",
        &[("tasks/taskgroup.c", "gcc", 4), ("tasks/fib.c", "gcc", 4)],
    ),
    mutant(
        "taskgroup_misses_grandchildren",
        "a taskgroup waits for children only",
        &[("tasks/taskgroup.c", "gcc", 4)],
    ),
    mutant("task_runs_twice", "a task's code runs twice", &[("tasks/basic.c", "gcc", 4)]),
    mutant(
        "stolen_task_lost",
        "a stolen task is dropped",
        &[("tasks/fib.c", "gcc", 4), ("tasks/basic.c", "gcc", 4)],
    ),
    mutant(
        "tied_constraint_ignored",
        "the task scheduling constraint is ignored",
        &[("tasks/constraint_event.c", "gcc", 2), ("tasks/constraint_event.c", "gcc", 4)],
    ),
    mutant("final_not_inherited", "children of a final task are not final", &[("tasks/final.c", "gcc", 4)]),
    mutant("if_0_deferred", "if(0) defers", &[("tasks/basic.c", "gcc", 4)]),
    mutant(
        "firstprivate_not_copied",
        "a task's firstprivate variables are zero",
        &[("tasks/basic.c", "gcc", 4)],
    ),
    mutant(
        "firstprivate_copied_late",
        "a task reads its generator's variables when it runs",
        &[("tasks/basic.c", "gcc", 4)],
    ),
    mutant("priority_inverted", "tasks of low priority go first", &[("tasks/priority_order.c", "gcc", 2)]),
    mutant("priority_ignored", "the priority clause is ignored", &[("tasks/priority_order.c", "gcc", 2)]),
    mutant(
        "detach_completes_at_once",
        "a detachable task does not wait for its event",
        &[("tasks/detach.c", "gcc", 4)],
    ),
    mutant("taskloop_skips_last", "a taskloop loses its last iteration", &[("tasks/taskloop.c", "gcc", 4)]),
    mutant(
        "task_reduction_loses_copy",
        "a task reduction leaves thread 0's copy out",
        &[("tasks/reductions.c", "clang-19", 4), ("tasks/reductions.c", "clang-19", 2)],
    ),
    mutant(
        "icv_not_inherited",
        "a task begins with the initial control variables",
        &[("tasks/nested_regions.c", "gcc", 4)],
    ),
    mutant(
        "resident_copy_behind_the_host",
        "what the host has changed is still taken from where regions left it",
        &[("device/coherence.c", "gcc", 4)],
    ),
    mutant(
        "writes_not_noted",
        "what a region has written leaves older copies valid",
        &[("device/coherence.c", "gcc", 4)],
    ),
    mutant(
        "filled_from_stale_host",
        "a copy is filled from the host though another device has changed the bytes",
        &[("device/coherence.c", "gcc", 4)],
    ),
    mutant(
        "task_finds_old_bytes",
        "a task behind a region finds what was there before it",
        &[("device/coherence.c", "gcc", 4)],
    ),
    mutant(
        "array_writes_not_noted",
        "what a device has written of an array leaves older copies valid",
        &[("device/array.c", "gcc", 4)],
    ),
    mutant(
        "array_not_ahead",
        "nothing of an array is copied before the region that reads it can begin",
        &[("device/array_ahead.c", "gcc", 4)],
    ),
    mutant(
        "array_ahead_of_host",
        "a block is copied ahead of time while a task writes it on the host",
        &[("device/array_ahead.c", "gcc", 4)],
    ),
    mutant(
        "array_users_ignored",
        "a block of an array is written on one device while another one uses it",
        &[("device/array_shared_block.c", "gcc", 4)],
    ),
    mutant(
        "chain_unordered",
        "regions that follow each other on a GPU do not wait for those before them",
        &[("device/chain.c", "clang-19", 4), ("device/chain.c", "clang-19", 1)],
    ),
    mutant(
        "version_overtakes",
        "a task's version on the host begins when those before it have queued their work",
        &[("device/versions.c", "clang-19", 4)],
    ),
    mutant(
        "chain_ends_early",
        "a region's end is known before those have ended that it followed on a GPU, and one that copies begins before them",
        &[("device/chain.c", "clang-19", 4)],
    ),
    mutant(
        "regions_hold_for_each_other",
        "a region lets others follow it on a GPU though only other regions hold what it maps, so that what they change comes to the host late or never",
        &[("device/chain_readers.c", "clang-19", 4)],
    ),
    mutant(
        "part_of_resident_is_there",
        "a region follows another one on a GPU that keeps more than it maps",
        &[("device/chain_kept.c: on", "clang-19", 4)],
    ),
    mutant(
        "resident_write_noted_late",
        "what a region has written counts as old on other devices as long as one that follows it uses it",
        &[("device/chain_kept.c: on", "clang-19", 4)],
    ),
    mutant(
        "looks_behind_queued_work",
        "a region that keeps nothing looks at what those before it leave before these have ended",
        &[("device/chain_kept.c: on", "clang-19", 4)],
    ),
    mutant(
        "device_priority_unsaid",
        "a GPU is not told the priority of the task that launches a kernel or asks for a stream",
        &[("device/priorities.c", "clang-19", 4)],
    ),
    mutant(
        "admission_by_age",
        "regions take their turns on GPUs in the order of creation",
        &[("device/gpu_turns.c", "clang-19", 4)],
    ),
    mutant(
        "admission_kept",
        "a region that waits for a block of an array keeps its turn on a GPU",
        &[("device/gpu_turns_back.c", "clang-19", 4)],
    ),
    mutant(
        "function_keeps_admission",
        "a device task's turn counts while its function runs, which may wait for others",
        &[("device/gpu_tasks_wait.c", "clang-19", 4)],
    ),
    mutant(
        "failed_task_keeps_admission",
        "a device task that fails never gives its turn back",
        &[("device/gpu_tasks_fail.c", "clang-19", 4)],
    ),
    mutant(
        "task_never_moves",
        "no GPU takes over device tasks that wait for another one",
        &[("device/gpu_tasks_moved.c", "clang-19", 4)],
    ),
    mutant(
        "task_leaves_chain",
        "a device task goes to another GPU than the one where those before it are not over",
        &[("device/gpu_tasks_chain.c", "clang-19", 4)],
    ),
    mutant(
        "follower_keeps_admission",
        "a device task that follows others on a GPU keeps its turn while it waits for that GPU, so that those for another one have none",
        &[("device/gpu_tasks_fan.c", "clang-19", 4)],
    ),
    mutant(
        "region_notifies_for_function",
        "a region in a device task's function tells those behind the task that its work is queued, which is not yet",
        &[("device/gpu_tasks_region.c", "clang-19", 4)],
    ),
    mutant(
        "version_stays",
        "a task's version runs on the GPU that was chosen first, though another one has taken it over",
        &[("device/gpu_tasks_moved.c", "clang-19", 4), ("device/gpu_tasks_moved.c", "clang-19", 1)],
    ),
    mutant(
        "interop_ignores_depend",
        "interop does not wait for its dependences",
        &[("device/interop_depend.c", "clang-19", 4)],
    ),
    mutant(
        "interop_forgets_stream",
        "interop does not wait for its stream",
        &[("device/interop_many.c", "clang-19", 4), ("device/interop_depend.c", "clang-19", 4)],
    ),
    mutant(
        "device_op_not_notified",
        "tools do not hear that memory of a device is given back",
        &[("ompt/devices.c", "gcc", 4), ("ompt/devices.c", "clang-19", 4)],
    ),
    // ---- cancellation
    mutant("cancel_ignored", "cancel does nothing", &[("cancel/constructs.c", "gcc", 4)]),
    mutant("cancel_for_ignored", "cancel for does not stop the others", &[("cancel/by_one.c", "gcc", 4)]),
    mutant("cancelled_tasks_run", "tasks of a cancelled taskgroup run", &[("cancel/constructs.c", "gcc", 4)]),
    mutant(
        "cancel_leaks",
        "the region after a cancelled one is cancelled, too",
        &[("cancel/constructs.c", "gcc", 4), ("cancel/barrier.c", "gcc", 4)],
    ),
    mutant(
        "construct_stays_cancelled",
        "the static loop after a cancelled one is cancelled, too",
        &[("cancel/by_one.c", "gcc", 4)],
    ),
    // ---- regions and control variables
    mutant("thread_limit_ignored", "teams are larger than thread-limit-var", &[("teams/host.c", "gcc", 4)]),
    mutant(
        "max_active_levels_ignored",
        "regions nest deeper than max-active-levels-var",
        &[("parallel/nested.c", "gcc", 4)],
    ),
    mutant("level_wrong", "omp_get_level is too large in nested regions", &[("parallel/nested.c", "gcc", 4)]),
    mutant(
        "thread_num_wrong_nested",
        "omp_get_thread_num is one too many in nested regions",
        &[("parallel/nested.c", "gcc", 4)],
    ),
    mutant("team_num_wrong", "teams are numbered from 1", &[("teams/host.c", "gcc", 4)]),
    mutant(
        "rounding_mode_not_passed_on",
        "threads do not take over the rounding mode",
        &[("process/float_mode.c", "gcc", 4)],
    ),
    mutant("alignment_ignored", "allocators ignore the alignment", &[("memory/allocators.c", "gcc", 4)]),
    // ---- user-level threads
    mutant(
        "errno_of_another",
        "errno is 0 after a switch",
        &[("identity/errno.c", "gcc", 8), ("process/errno_tls.c", "gcc", 8)],
    ),
    mutant(
        "tls_blocks_swapped",
        "threads 1 and 2 change their thread-local storage from region to region",
        &[("identity/threadprivate.c", "gcc", 8), ("identity/threadprivate_workers_1.c", "gcc", 8)],
    ),
    mutant(
        "stack_not_noted",
        "pthread_getattr_np tells OpenMP threads the stack of another kernel thread",
        &[("identity/stacks.c", "gcc", 6)],
    ),
    mutant(
        "mode_stays_with_worker",
        "a thread computes in the floating-point mode of the one before on its worker",
        &[("tasks/modes.c", "gcc", 6)],
    ),
    mutant(
        "mode_lost_by_leaving",
        "a thread that comes back to help has the floating-point mode of somebody else",
        &[("tasks/modes_after_leaving.c", "gcc", 6), ("tasks/modes_after_leaving.c", "gcc", 17)],
    ),
    mutant(
        "signal_for_running_thread",
        "a signal is handled by whichever thread runs",
        &[("signals/main_thread.c", "gcc", 6), ("signals/main_thread.c", "gcc", 17)],
    ),
    mutant(
        "mask_stays_with_worker",
        "a thread has the signal mask of the one before on its worker",
        &[("signals/masks.c", "gcc", 6)],
    ),
    mutant(
        "kernel_thread_not_dedicated",
        "a thread that gives up rights for good shares its kernel thread",
        &[("identity/kernel_for_good.c", "gcc", 6)],
    ),
    mutant(
        "idle_threads_handle_nothing",
        "a signal for a thread between two regions waits for its next region",
        &[("signals/between_regions.c", "gcc", 6)],
    ),
    mutant(
        "queues_are_not_waited_for",
        "sigwait and its like do not see what other threads have sent",
        &[("signals/waits.c", "gcc", 6)],
    ),
    mutant(
        "alternate_stack_stays_with_worker",
        "a thread has the alternate signal stack of the one before on its worker",
        &[("signals/alternate_stacks.c", "gcc", 6)],
    ),
    mutant(
        "affinity_stays_with_worker",
        "a thread runs on the processors that the one before on its worker was bound to",
        &[("identity/kernel_affinity.c", "gcc", 6)],
    ),
    mutant(
        "settings_stay_with_worker",
        "a thread has the name and the nice value of the one before on its worker",
        &[("identity/kernel_settings.c", "gcc", 6), ("identity/kernel_names.c", "gcc", 6)],
    ),
    mutant(
        "clock_of_worker",
        "the processor time of a thread is its worker's",
        &[("identity/kernel_times.c", "gcc", 17)],
    ),
    mutant(
        "unknown_stacks_are_left",
        "the monitor interrupts code on stacks that it does not know",
        &[("spin/foreign_stack.c", "gcc", 6), ("spin/coroutines.c", "gcc", 6)],
    ),
    mutant(
        "calls_not_left",
        "the monitor leaves program code only, not the C library's functions that it calls",
        &[("spin/calls.c", "gcc", 17)],
    ),
    mutant(
        "exceptions_not_saved",
        "exceptions being handled stay with the worker",
        &[("cxx/untied_in_catch.cpp", "g++", 4)],
    ),
    // The stall monitor gets programs out of the circle.
    Mutant {
        name: "eligible_inverted",
        what: "a worker takes younger gangs first",
        programs: &[("gang/figure_1a_sched_1.c", "gcc", 4), ("gang/figure_1a_of_4_sched_1.c", "gcc", 4)],
        unit_tests: Some("gang::tests"),
    },
];
