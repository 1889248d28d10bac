/* ompx.h: what Gangway offers beyond OpenMP, for C and C++.
 *
 * The functions are in libgangway.so. A program that is linked with it just calls them. One that must also
 * start under another OpenMP library defines OMPX_WEAK before it includes this file, is built with -fPIC, and
 * asks `if (ompx_get_counters)` before it calls.
 *
 * All functions but ompx_cluster_init may be called by any thread at any time, inside and outside of parallel
 * regions. Those that can fail say so. Fortran: ompx_lib.f90, beside this file.
 */
#ifndef OMPX_H
#define OMPX_H

#include <stddef.h>
#include <stdint.h>

#ifdef OMPX_WEAK
#define OMPX_API __attribute__((weak))
#else
#define OMPX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Gang scheduling. The threads of a gang-scheduled parallel region are placed on distinct workers (the kernel
 * threads that run OpenMP threads) and run in the order in which gangs were made; those of other regions are
 * work that any worker without work takes. Code whose threads wait for each other in ways the runtime cannot
 * see (spin barriers, MPI) wants gangs; nested regions of independent work do better without.
 *
 * Which regions are gang-scheduled is a control variable of each task, gang-sched-var. OMP_GANG_SCHED gives
 * its initial value; a task inherits that of the task which created it, as for omp_set_num_threads. */

/* All parallel regions that the calling task and the tasks it creates encounter from here on are
 * gang-scheduled. */
OMPX_API void ompx_set_gang_sched(void);

/* Back to what OMP_GANG_SCHED said (not set: the runtime chooses). */
OMPX_API void ompx_reset_gang_sched(void);

/* What the runtime has done since the process was started: numbers of events, bytes and times, none ever
 * shrinks. */
typedef struct ompx_counters_t {
    uint64_t regions;         /* parallel regions forked, those of one thread included */
    uint64_t gangs;           /* regions that were gang-scheduled */
    uint64_t gang_ults_run;   /* threads that share workers and were started, of gangs and of other regions */
    uint64_t steal_attempts;  /* looks into the deque of another thread or worker */
    uint64_t steal_successes; /* those that brought work */
    uint64_t steals_aborted;  /* those where somebody else was quicker */
    uint64_t stalls;          /* times a worker was found stalled */
    uint64_t interrupts;      /* signals sent to stalled workers */
    uint64_t preemptions;     /* threads switched out by such a signal */
    uint64_t hand_offs;       /* times a spare kernel thread took over from a blocked worker */
    uint64_t yields;          /* calls of sched_yield that switched to another OpenMP thread */
    uint64_t donors;          /* identities (thread-local storage for threads that share workers) made */
    uint64_t switches;        /* context switches between user-level threads */
    uint64_t workers;         /* kernel threads the runtime has started */
    uint64_t regions_sent;    /* target regions sent to other MPI ranks */
    uint64_t regions_served;  /* target regions run for other MPI ranks */
    uint64_t bytes_sent;      /* bytes copied to other MPI ranks */
    uint64_t bytes_fetched;   /* bytes fetched from other MPI ranks */
    uint64_t invokes_sent;    /* functions invoked (ompx_invoke), on this rank or another */
    uint64_t invokes_served;  /* functions run here that were invoked, that an event fired, or that a
                                 persistent task executed */
    uint64_t regions_stolen;  /* target regions run here that had been placed on another device */
    uint64_t rank_steal_attempts;  /* times that this rank asked another one for such regions */
    uint64_t rank_steal_successes; /* those that brought some */
    uint64_t rank_steals_aborted;  /* those that brought none */
    uint64_t bytes_between;     /* bytes fetched from a rank by another one, to which a region's data went */
    uint64_t bytes_not_sent;    /* bytes of regions' data that their devices had already (OMPX_COHERENCE) */
    uint64_t bytes_not_fetched; /* bytes of regions' results that were overwritten before the host could look
                                   (OMPX_COHERENCE) */
    uint64_t object_invokes;    /* handlers invoked on mobile objects (ompx_object_invoke) */
    uint64_t objects_moved;     /* mobile objects that have left this rank for another one */
    uint64_t object_forwards; /* requests for mobile objects that were sent on, as the object was not here */
    uint64_t regions_chained; /* target regions, and tasks with streams, queued on their device behind others
                                 that were not over */
    uint64_t regions_waited;  /* target regions and device tasks whose GPU the runtime chooses that waited
                                 until they could be placed, or begin */
    uint64_t regions_taken_over; /* those that began on another GPU than the one they waited for, which had
                                    nothing to do */
    uint64_t blocks_ahead;       /* blocks of arrays brought to devices ahead of time that nobody asked for
                                    (docs/arrays.md) */
    uint64_t moves;              /* times that a thread moved to another worker, or back, because the number
                                    of workers follows the processors that the program gets */
    uint64_t worker_changes;     /* times that the number of running workers has changed
                                    (docs/protocols/allotment.md) */
    uint64_t fewer_workers_us;   /* microseconds of measured time in which fewer than all workers ran */
} ompx_counters_t;

/* Writes the counters to `out`: its first `size` bytes, at most as many as the library knows. Returns how
 * many bytes the library knows. Later versions add counters at the end, so pass sizeof(ompx_counters_t) and,
 * for a library that may be older than this header, zero `out` first or compare the result. A null `out` only
 * asks for the number of bytes.
 *
 *     ompx_counters_t c = {0};
 *     ompx_get_counters(&c, sizeof c);
 *
 * The calling thread's own past is counted in full; what other threads do meanwhile may be missing. The child
 * of a fork goes on from its parent's figures. With GANGWAY_STATS=1 in the environment the same figures are
 * printed at exit. */
OMPX_API size_t ompx_get_counters(ompx_counters_t *out, size_t size);

/* Writes what the library knows about itself and the machine to `out`, as lines `name=value`: version,
 * openmp, workers, tls (donor, kernel or shared) and tls_reason, processors, cores, sockets, numa_nodes,
 * last_level_cache (a line for each), quota, and setting.NAME for each variable. At most `size` bytes, the
 * zero byte at the end among them; returns how many there are without it. `out` may be null. Later versions
 * add names. Any thread. */
OMPX_API size_t ompx_describe(char *out, size_t size);

/* MPI ranks as devices (docs/mpi.md). A program whose source knows nothing of it is started with
 * libgangway_start.so; one that is linked with the library can do without, by this call as the first thing in
 * main:
 *
 *     int main(int argc, char **argv) {
 *         ompx_cluster_init(&argc, &argv);
 *
 * OMPX_CLUSTER says what the ranks are for each other: head (the default here): rank 0 goes on, on the other
 * ranks this call does not return, they run target regions until rank 0 ends; spmd: all ranks go on, and run
 * regions beside main; off. Returns 0, also where there is no launcher and this process is alone, or -1 (and
 * a line on standard error) when it was called before. What goes wrong ends all ranks with a line. The
 * arguments are not changed. */
OMPX_API int ompx_cluster_init(int *argc, char ***argv);

/* A number for the device clause of target regions, also as default device: the runtime chooses the device,
 * one on which the region has soon run, as far as times of regions and copies are known. Without devices the
 * region runs on the host. Data constructs that stand alone (target data, enter data, update) have to name a
 * device; with this number they end the program. */
OMPX_API int ompx_device_any(void);

/* The same for GPUs alone: the runtime chooses one of them, of any rank; for streams of tasks one of this
 * rank. Without GPUs: as without devices. */
OMPX_API int ompx_device_any_gpu(void);

/* The same for other MPI ranks. Without ranks: as without devices. */
OMPX_API int ompx_device_any_rank(void);

/* The same for `count` devices, by their numbers: the runtime chooses one of them. The number stands for the
 * set in all constructs from here on, and is the same for the same devices. Any thread. OMPX_E_COUNT (none,
 * or over 65,536 sets), _ARGUMENT, _DEVICE (there is no such device). */
OMPX_API int ompx_device_set(const int *devices, int count);

/* In the device clause of a target region: the runtime chooses among the devices that have the byte at this
 * address when the region is about to run, its dependences met: by a mapping, as a block of a coherent array,
 * or left there by another region (OMPX_COHERENCE). Where no device has it, any will do. Says so for the next
 * region that the calling task creates. */
OMPX_API int ompx_device_near(const void *address);

/* The same for the device where that region ran, or is to run, that last mapped what begins at this address
 * with `from` or `tofrom`: a chain of regions stays where its first one went. Where that is not known (it
 * goes by a table of 1024 addresses), any device will do. */
OMPX_API int ompx_device_of(const void *address);

/* The rank whose processors, or whose GPU, the device with this number is (as for the device clause; 0 where
 * there are no ranks), and which of both it is: OMPX_CPU or OMPX_GPU. The host is the calling rank's
 * OMPX_CPU. With ranks the devices are these, as without GPUs, then the GPUs of rank 0, of rank 1 and so on;
 * a GPU has the same number on every rank (docs/gpu.md). Any thread. OMPX_E_DEVICE, without a line: there is
 * no such device. */
OMPX_API int ompx_device_rank(int device);
OMPX_API int ompx_device_kind(int device);

/* How the runtime chooses that device: from here on by this policy, a text as in OMPX_SCHED
 * (docs/placement.md), such as "rrmc" or "heftmc:lambda=0.7". Returns 0, or -1 and a line on standard error
 * when there is no such policy; then nothing changes. */
OMPX_API int ompx_set_sched(const char *policy);

/* What `target nowait` regions with device(ompx_device_any()) map stays on their devices for the next such
 * region (`on` not 0), or goes back when they end (0), as OMPX_COHERENCE says for the whole program. It holds
 * for regions that are created from here on. The answers are the same either way (docs/coherence.md). Returns
 * what was said before. Any thread, at any time; no errors. */
OMPX_API int ompx_set_coherence(int on);

/* A device, as a policy sees it for one region. Times are estimates. */
typedef struct ompx_sched_device_t {
    uint64_t need;    /* bytes that the region would add there: what it maps and is not there, its own copies,
                         what it declared */
    uint64_t room;    /* bytes that nobody uses there, UINT64_MAX where there is no limit; the region fits if
                         need <= room */
    uint64_t present; /* bytes of the region's data that are there */
    uint64_t wait;    /* nanoseconds until the device has run what it has */
    uint64_t bring;   /* nanoseconds until the region's data would be there */
    uint32_t running; /* regions of this process that run there or were sent there */
    uint32_t reserved;
} ompx_sched_device_t;

/* A policy of the user's own: a shared object, named by OMPX_SCHED=library:FILE, that exports
 *
 *     const ompx_sched_policy_t *ompx_sched_policy(void);
 *
 * `choose` returns the number of a device that the region fits on, or -1: none now; it is asked again when a
 * region has ended. Regions whose device is the runtime's choice are numbered from 0 as they are created. It
 * is called from any thread, one call at a time, and uses no OpenMP. */
typedef struct ompx_sched_policy_t {
    uint32_t version; /* 1 */
    uint32_t reserved;
    const char *name; /* or null */
    void *data;       /* passed to the function */
    int (*choose)(void *data, uint64_t region, const ompx_sched_device_t *devices, uint32_t count);
} ompx_sched_policy_t;

/* The next target region that the calling task creates needs so many bytes of its device besides what it
 * maps. Counted by every policy where devices have a limit (OMPX_DEVICE_MEMORY). */
OMPX_API void ompx_set_task_memory(size_t bytes);

/* The rank of this process, and how many there are; 0 and 1 where it is alone. */
OMPX_API int ompx_cluster_rank(void);
OMPX_API int ompx_cluster_size(void);

/* Waiting for what the runtime cannot see: requests of a message library, events of a device (docs/mpi.md).
 */

/* 1 if the calling code is in a parallel region, so that ompx_suspend_until would suspend its thread; else 0.
 */
OMPX_API int ompx_may_suspend(void);

/* Returns when ready(argument) has answered with another value than 0. Until then the calling OpenMP thread
 * is suspended, and its worker goes on to other threads; with OMPX_TASK_AWARE_MPI=1 the thread also runs
 * other tasks of its team, whichever they are. `ready` is asked by any worker that looks for work, on any
 * kernel thread, by one at a time, at first by the caller; it must not wait nor call an OpenMP routine, and
 * is not asked again after its answer. Where ompx_may_suspend answers 0 the kernel thread yields between two
 * questions. */
OMPX_API void ompx_suspend_until(int (*ready)(void *argument), void *argument);

/* 1 under GANGWAY_CHECK (docs/remote.md), which names what ompx_suspend_for is told: worth finding out. A
 * library may then wait by ompx_suspend_for also where ompx_may_suspend answers 0, so that the wait is seen.
 * Else 0. */
OMPX_API int ompx_checks(void);

/* What a library waits for. `call`: the routine's name, or null. `rank`: the other rank, of those of
 * ompx_cluster_rank, and `tag`: negative for any, or not known. */
enum { OMPX_RECEIVES, OMPX_SENDS, OMPX_MESSAGES /* several, or not known */ };
typedef struct ompx_message_t {
    const char *call;
    int rank;
    int tag;
    int end; /* OMPX_RECEIVES: the other rank has to send; OMPX_SENDS: it has to receive */
} ompx_message_t;

/* As ompx_suspend_until, for a message, which is read before the call waits; null: as ompx_suspend_until. */
OMPX_API void ompx_suspend_for(int (*ready)(void *argument), void *argument, const ompx_message_t *message);

/* The caller is about to wait in a library, for some time: OpenMP threads behind it on the same worker that
 * could go on do so on another kernel thread, without the time that the runtime needs to find out. */
OMPX_API void ompx_blocks(void);

/* Functions on other ranks, futures and events (docs/remote.md), after PREMA on user-level threads
 * (Thomadakis et al., "Towards Runtime Support for Unstructured and Dynamic Exascale-era Applications",
 * sections 3 and 4). A process without ranks is rank 0 of one: everything runs in it, with the same answers.
 *
 * Results: 0, or a negative number, one of the following, and a line on standard error that names the
 * function and the mistake; then the call has changed nothing. Where a handle is another rank's, the caller
 * cannot know what is wrong with it: the call returns 0, and the owner prints the line. What cannot be done
 * any more when it is found (a rank without the module of an invoked function, no memory for what a message
 * brings) ends all ranks with a line. */
enum {
    OMPX_E_RANK = -1,     /* there is no such rank: 0 to ompx_cluster_size() - 1 */
    OMPX_E_ARGUMENT = -2, /* a pointer is null that must not be; data may be, where their size is 0 */
    OMPX_E_FUNCTION = -3, /* the function lies in no executable and no shared object */
    OMPX_E_MEMORY = -4,   /* no memory for a copy of the bytes */
    OMPX_E_STALE = -5,    /* the handle names nothing: freed, fired, or never made; or the object of an
                             invocation does not */
    OMPX_E_FOREIGN = -6,  /* another rank's, and only its owner may ask for this */
    OMPX_E_SET = -7,     /* it was set or satisfied before; or the future is an invocation's, which sets it */
    OMPX_E_SIZE = -8,    /* the value has another size */
    OMPX_E_WAITED = -9,  /* somebody waits for it */
    OMPX_E_ENDED = -10,  /* the ranks have parted, or this is the child of a fork */
    OMPX_E_SLOT = -11,   /* the event has no dependence of this number */
    OMPX_E_TRAY = -20,   /* the task has no such tray */
    OMPX_E_TYPE = -21,   /* there is no such type or reduction, or the elements have another type */
    OMPX_E_FILE = -22,   /* a file cannot be used; a line says why */
    OMPX_E_DEVICE = -23, /* there is no device of this kind */
    OMPX_E_PROCEDURE = -24, /* the task has no procedure */
    OMPX_E_COUNT = -25,     /* a list without entries, or with too many */
    OMPX_E_NUMBER = -26,    /* OMPX_TASKS names no task of this number */
    OMPX_E_RANGE = -27,     /* there are not so many elements */
    OMPX_E_TASK = -28,      /* the calling code is no explicit task */
    OMPX_E_BROKEN = -29 /* a device failed, which a line says; or the function that was to use it said so */
};

/* A future: a value that comes once. Made by one rank, its owner; plain numbers, which may be copied, sent
 * and compared. All zero: none. */
typedef struct ompx_future_t {
    int32_t rank;        /* the owner */
    uint32_t id;         /* its place there */
    uint64_t generation; /* never twice for one place, never 0 */
} ompx_future_t;

/* What an invoked function returns its value through. */
typedef struct ompx_result_t ompx_result_t;

/* A function that can be invoked. `args` is a copy of `bytes` bytes, aligned to 16, for this call; null if
 * there are none. It runs as an untied explicit task of the rank's pool: it may wait, fork, make tasks,
 * launch target regions, invoke. Its own tasks need not have ended when it returns. */
typedef void (*ompx_handler)(const void *args, size_t bytes, ompx_result_t *result);

/* Runs fn(args, bytes, result) on rank `rank`, which may be the caller's. `fn` is a function of the
 * executable or of a shared object that the other rank has loaded in the same version. The bytes, any number
 * of them, are copied before the call returns. It does not wait for the function; it may be suspended while
 * too many messages wait for that rank.
 *
 * If `future` is not null, a future of the calling rank is written there: its value is what the function gave
 * to ompx_result_set, 0 bytes if nothing, and it comes when the function has returned. It has to be freed,
 * which may be done before: then nobody wants the value.
 *
 * Invocations begin in any order and run at the same time. All are done before the program ends
 * (docs/remote.md). OMPX_E_RANK, _ARGUMENT, _FUNCTION, _MEMORY, _ENDED; then no future was made. */
OMPX_API int ompx_invoke(int rank, ompx_handler fn, const void *args, size_t bytes, ompx_future_t *future);

/* The value of the running function is a copy of these bytes; a later call replaces them. By the function
 * itself, or by a task that it waits for; not two at a time. OMPX_E_ARGUMENT, _MEMORY. */
OMPX_API int ompx_result_set(ompx_result_t *result, const void *data, size_t bytes);

/* A future of this rank, without a value, to be set by ompx_future_set. OMPX_E_ARGUMENT. */
OMPX_API int ompx_future_create(ompx_future_t *future);

/* Gives a future of any rank its value: a copy of these bytes. Once; not for the future of an invocation.
 * Here: OMPX_E_SET, _STALE. Always: _ARGUMENT, _MEMORY, _ENDED, and _STALE where the handle names no rank. */
OMPX_API int ompx_future_set(ompx_future_t future, const void *data, size_t bytes);

/* The following are for the owner of the future: OMPX_E_FOREIGN elsewhere, _STALE, _ENDED. */

/* 1 if the value is there, 0 if not yet, or an error. Looks after messages, so a loop around it comes to an
 * end. */
OMPX_API int ompx_future_test(ompx_future_t future);

/* Returns when the value is there. The calling task is suspended and its worker is not held: this is a task
 * scheduling point at which the thread may start any task of its team, tied ones that do not descend from the
 * waiting one included. Up to 20,000 tasks of a process wait so; those beyond hold their thread. Several may
 * wait for one future. */
OMPX_API int ompx_future_wait(ompx_future_t future);

/* Waits, then writes the number of bytes of the value. OMPX_E_ARGUMENT. */
OMPX_API int ompx_future_size(ompx_future_t future, size_t *bytes);

/* Waits, then copies the value to `into`, as often as one likes. It has to be of exactly `bytes` bytes: else
 * OMPX_E_SIZE. OMPX_E_ARGUMENT. */
OMPX_API int ompx_future_get(ompx_future_t future, void *into, size_t bytes);

/* The future is not used any more; its handles name nothing from here on. OMPX_E_WAITED. */
OMPX_API int ompx_future_free(ompx_future_t future);

/* ---- graphs of tasks that are made once and run many times
 * -------------------------------------------------------------------------
 *
 * After the taskgraph construct of OpenMP 6.0 (14.3), for compilers that do not have it. Between begin and
 * end the calling task makes tasks, with dependences or without; the first time they are written down as they
 * are made, and from then on begin makes them itself:
 *
 *     static ompx_taskgraph_t *graph;
 *     for (int step = 0; step < steps; step++) {
 *         if (ompx_taskgraph_begin(&graph))
 *             for (...) {
 *                 #pragma omp task depend(...)
 *                 ...
 *             }
 *         ompx_taskgraph_end(&graph);
 *     }
 *
 * What is written down: the code of each task, its firstprivate variables with the values they had when it
 * was made, the addresses of its shared ones, its priority, and whom it depends on. All of that is the same
 * in every run, so shared variables must still be there, and what differs from run to run must be shared.
 * What the program does between the tasks is done the first time only; a taskwait there is a wait in every
 * run. Tasks that the graph's tasks make are made by those in every run. While tasks with dependences that
 * the caller has made before are not complete, begin returns 1: those of the graph may depend on them.
 *
 * A graph with a task that cannot be written down is not run so: begin goes on to return 1, and the program
 * is right as it is. These are tasks whose firstprivate variables have constructors or destructors (or,
 * compiled by gcc, are structures or arrays: it does not tell these apart), detachable, undeferred (if(0),
 * final outside) and target tasks, taskloops, taskgroups and taskwait depend between the tasks, and
 * reductions of taskgroups around the graph; of constructors that have no destructor beside them only those
 * are found whose objects point to themselves; in a team of one thread, and while there are devices, nothing
 * is written down. mutexinoutset orders the tasks of a graph, as inout does.
 *
 * One task at a time may be between begin and end of a graph; for a second one begin returns 1 and its tasks
 * are made as ever. */
typedef struct ompx_taskgraph ompx_taskgraph_t;

/* Opens a taskgroup, and begins the graph, which is made if *graph is null. 1: the caller makes its tasks; 0:
 * they are under way. */
OMPX_API int ompx_taskgraph_begin(ompx_taskgraph_t **graph);

/* Waits for the graph's tasks and their descendants. By the task that has begun it. */
OMPX_API void ompx_taskgraph_end(ompx_taskgraph_t **graph);

/* 1 if begin will return 0, 0 if the graph cannot be run so, -1 if nothing has been written down. Not between
 * begin and end. */
OMPX_API int ompx_taskgraph_is_ready(ompx_taskgraph_t **graph);

/* Frees the graph and sets *graph to null, from where it may be made anew. Not between begin and end. */
OMPX_API void ompx_taskgraph_destroy(ompx_taskgraph_t **graph);

/* ---- tasks that use streams of GPUs (docs/gpu.md)
 * ------------------------------------------------------------------------------------
 *
 * An explicit task whose code asks for a stream is a device task: it has ended when its code has returned and
 * all that the code has put on its streams is over. Its worker runs other tasks meanwhile. What precedes it
 * by `depend` is done when its work begins, and what follows it finds its work done. */

/* The stream of the running task: a CUstream, which is CUDA's cudaStream_t, too. On the device that
 * ompx_set_task_stream has said for this task, else on the default device. The device's primary context is
 * current on the calling thread from here to the end of the task's code, which must not wait in OpenMP after
 * this call (no taskwait, taskyield, target construct): it puts work on the stream and returns. The stream is
 * the task's alone, with its priority; it is not to be destroyed. Several calls for one device give the same
 * stream.
 *
 *     #pragma omp task depend(inout: c[0:n*n])
 *     {
 *         cublasSetStream(handle, ompx_cuda_stream());
 *         cublasDgemm(handle, ...);
 *     }
 *
 * Null, and a line on standard error: outside of explicit tasks; no such device with streams; the device
 * failed. Work that fails ends the program with a line that says how. */
OMPX_API void *ompx_cuda_stream(void);

/* The same on this device, or on ompx_device_any_gpu(): for tasks that use several GPUs. */
OMPX_API void *ompx_cuda_stream_on(int device);

/* The next explicit task that the calling task creates (by `task`, or a `target` of its own kind) only puts
 * work on streams: the device, which may be ompx_device_any_gpu(), is where ompx_cuda_stream puts it. Its
 * code then runs as soon as the device tasks and target regions that it depends on have queued *their* work,
 * and its stream waits for theirs, without the host in between. So its code reads nothing on the host that
 * such tasks write. Returns 0, or OMPX_E_DEVICE; then nothing has changed. */
OMPX_API int ompx_set_task_stream(int device);

/* The next task, or the tasks of the next taskloop, that the calling task creates may be run by any thread:
 * as with the clause threadset(omp_pool) of OpenMP 6.0, for compilers that do not know it. Workers that have
 * nothing else to do run such tasks as *free agents*, which are no threads of the team: omp_is_free_agent()
 * is 1 in them, and omp_get_thread_num() is omp_unassigned_thread (-2), whatever omp_get_num_threads() is. So
 * a program becomes parallel without a parallel region:
 *
 *     #pragma omp taskgroup
 *     for (int i = 0; i < n; i++) {
 *         ompx_set_task_pool();
 *     #pragma omp task
 *         work(i);
 *     }
 *
 * Returns 0, or -1 if there can be no free agents for it, and the task will be one of its team: one
 * processor, a final task, a taskgroup or region with task reductions, threads that cannot share workers
 * (GANGWAY_TLS=kernel), outside of regions and taskgroups on another thread than that of main, or outside of
 * regions in the child of a fork. A task with a priority, and one that is recorded in a taskgraph, is one of
 * its team, too, whatever was returned.
 *
 * In such a task, worksharing constructs and barriers are not allowed, as in any task (5.2 17.1); an agent
 * has no share of a loop. A task that holds a lock must not wait for children without the clause if the
 * threads of the team may all stand at that lock. */
OMPX_API int ompx_set_task_pool(void);

/* One item of a list of dependences, as in the `depend` clause. */
typedef struct ompx_access_t {
    const void *address;
    int kind; /* one of these */
} ompx_access_t;
enum { OMPX_IN = 1, OMPX_OUT = 2, OMPX_INOUT = 3, OMPX_MUTEXINOUTSET = 4, OMPX_INOUTSET = 8 };

/* What such a task runs: it puts work on the stream and returns 0, or an error of its own. `args` is a copy,
 * aligned to 16; null if there are no bytes. */
typedef int (*ompx_cuda_function)(void *stream, const void *args);

/* Creates a child of the calling task that calls fn(stream, args) with a stream of this device, which may be
 * ompx_device_any_gpu(), and a copy of `bytes` bytes. It is a device task as with ompx_set_task_stream, and
 * depends on others by `count` accesses; `taskwait` and the like wait for it.
 *
 * With ompx_device_any_gpu() it takes turns with other work whose GPU the runtime chooses, and follows tasks
 * before it on the GPU where these have work that is not over (docs/gpu.md, "Turns"). Work that waits on the
 * GPU for what a later task of this kind is to put there has to name its GPU: else it may wait for ever.
 *
 * If `future` is not null, a future is written there, to be freed by ompx_future_free: it comes, with 0
 * bytes, when the work is over. If the function returns another value than 0, or the work fails, a line says
 * so with the function's name, and ompx_future_wait returns OMPX_E_BROKEN; the program and other devices go
 * on. Without a future the program ends then. OMPX_E_ARGUMENT, _COUNT, _TYPE (no such kind of access),
 * _DEVICE, _MEMORY; then nothing was created. Any thread. */
OMPX_API int ompx_cuda_task(int device, ompx_cuda_function fn, const void *args, size_t bytes,
                            const ompx_access_t *accesses, int count, ompx_future_t *future);

/* ---- coherent arrays (docs/arrays.md)
 * ------------------------------------------------------------------------------------------------
 *
 * Storage in blocks, of which copies are on the devices that use them: they go where a region or a task uses
 * them, and stay there. The host's bytes are the storage itself, old as long as a device has newer ones,
 * until ompx_array_host. Target regions name blocks in `map` as any storage, with their address on the host:
 * what lies in one block is not copied back when the region ends; what lies in several is, as if it were no
 * array. The kinds of use are those of ompx_access_t. Any thread may call these. */

/* `bytes` bytes at `storage`, which stays the program's, are an array of blocks of `block` bytes each (the
 * last one may be smaller; 0: one block), and its value is what they hold; nothing of them is mapped to a
 * device. With `storage` null new storage is made, of zeros, at an address that is a multiple of 4096.
 * Returns the address of the first byte; or null and a line: no bytes, no memory, a part of these bytes is an
 * array already. */
OMPX_API void *ompx_array_create(void *storage, size_t bytes, size_t block);

/* The array at this address, which nobody uses, is none any more: storage of the program's has its value,
 * other storage is freed. OMPX_E_RANGE (no array begins there), OMPX_E_WAITED (a task, a region or a data
 * construct uses it). Copies by ompx_prefetch that have not begun are not made. */
OMPX_API int ompx_array_destroy(void *array);

/* The host may read these bytes of an array when this returns, until the next region or task that writes
 * their blocks; with another kind than OMPX_IN the calling task may write them, too, until it ends (an
 * implicit task, until the next region or task that writes their blocks), and no device's copy of their
 * blocks is valid any more. Another task that writes them later calls this itself, also for the first bytes
 * of a new array. Waits for uses on devices that are in the way; `depend` and `taskwait` say which have to
 * come before. A region that runs on the host by an `if` clause of clang's needs it, too; any other region on
 * the host does it by itself. OMPX_E_RANGE (of no array), OMPX_E_TYPE, OMPX_E_WAITED (the calling task uses a
 * block on a device), OMPX_E_ENDED (the child of a fork). */
OMPX_API int ompx_array_host(const void *address, size_t bytes, int kind);

/* A block, by the address of one of its bytes on the host, and what a task does with it on a device. */
typedef struct ompx_use_t {
    const void *address;
    int kind; /* as in ompx_access_t */
    int device;
} ompx_use_t;

/* The calling explicit task uses these blocks, on one device or several, until its end: they are there when
 * this returns. A task calls it once, before it asks for a stream. It does not wait for what the `depend`
 * clause should have said. A task made by ompx_cuda_task or ompx_task_versions does not need it: what its
 * accesses name is on its device before its function runs. OMPX_E_TASK, _COUNT, _TYPE, _ARGUMENT, _DEVICE,
 * OMPX_E_RANGE (of no array), OMPX_E_SET (the task has blocks or a stream), OMPX_E_WAITED (it uses a block on
 * another device already), OMPX_E_MEMORY (the devices have no room for all of them at a time), OMPX_E_BROKEN.
 * Then it uses none. */
OMPX_API int ompx_array_use(const ompx_use_t *uses, int count);

/* Where the byte of an array at this address is on a device, for the calling task, which uses its block
 * there; with -1 for `device` on the first one where it does. Null if it does not. Not after the task's end.
 */
OMPX_API void *ompx_array_pointer(const void *address, int device);

/* The device gets copies of the blocks that these bytes lie in, each as soon as the tasks are done that write
 * it: a child task of the caller's for each block, with an `in` dependence on the block's first byte. What
 * uses the block behind them finds it there, unless it had to make room again. Where there is no room nothing
 * is copied. If `future` is not null, a future is written there that comes, with 0 bytes, when that is over.
 * OMPX_E_DEVICE, OMPX_E_RANGE (of no array). */
OMPX_API int ompx_prefetch(const void *address, size_t bytes, int device, ompx_future_t *future);

/* A version of a task. `device` is the number of the device that it is for: on a GPU, `stream` is one of it,
 * the version puts its work there and returns, as with ompx_cuda_function; on the host that is
 * omp_get_initial_device(), `stream` is null, and the version does the work, as an untied explicit task may.
 * `args` is a copy, aligned to 16; null if there are no bytes. Returns 0, or an error of its own. */
typedef int (*ompx_version_function)(int device, void *stream, const void *args);

/* The versions of a task: { sizeof v, host, gpu, sizes }. Members that come with later releases will be
 * behind these. Read by the call alone. */
typedef struct ompx_versions_t {
    size_t size;                /* sizeof(ompx_versions_t) */
    ompx_version_function host; /* null: there is none */
    ompx_version_function gpu;  /* null: there is none */
    const size_t
        *sizes; /* bytes of each access of the task, in the same order, 0 where that is not known; or null */
} ompx_versions_t;

/* Creates a child of the calling task that runs one of its versions, with a copy of `bytes` bytes, where the
 * runtime expects it to have run first (docs/gpu.md, "Versions of a task"): by what runs of each version took
 * before with accesses of this size together, by what the GPUs have to do, and by copies of what tasks with
 * versions wrote elsewhere. Each version is tried three times for each size, and again now and then. The
 * choice is made when the task begins, and for the host once more when those before it are complete.
 *
 * `device`: ompx_device_any(): the host or a GPU. ompx_device_any_gpu(): a GPU; the host if there is none. A
 * GPU's number: that GPU. omp_get_initial_device(): the host. Where there are no GPUs (also: OMPX_CUDA,
 * OMPX_DEVICES, OMP_TARGET_OFFLOAD=disabled) the host's version runs; with OMP_TARGET_OFFLOAD=mandatory that
 * for GPUs, unless the host is named.
 *
 * Both versions get the same arguments, and bring the data themselves to where they use them
 * (omp_get_mapped_ptr(p, device) is where p is mapped); only blocks of coherent arrays that accesses name are
 * there before a version runs, on its GPU (ompx_array_pointer(p, device)) or on the host. Dependences and
 * futures as with ompx_cuda_task, whichever version runs; that on the host begins when all before it are
 * complete. OMPX_E_ARGUMENT (also: neither version, a size that is too small), _COUNT, _TYPE, _DEVICE (no
 * such device, or no version for it), _MEMORY; then nothing was created. Any thread. */
OMPX_API int ompx_task_versions(int device, const ompx_versions_t *versions, const void *args, size_t bytes,
                                const ompx_access_t *accesses, int count, ompx_future_t *future);

/* An event: a function that runs once, on the rank that made the event, when each of its dependences has been
 * satisfied by somebody. A handle like that of a future. */
typedef struct ompx_event_t {
    int32_t rank;
    uint32_t id;
    uint64_t generation;
} ompx_event_t;

/* What came with one dependence; null and 0 if nothing did. Aligned to 16. */
typedef struct ompx_part_t {
    const void *bytes;
    size_t size;
} ompx_part_t;

/* The function of an event: a copy of the data given to ompx_event_create, and `count` parts, in the order of
 * the dependences. All valid for this call. A task as ompx_handler. */
typedef void (*ompx_event_handler)(const void *data, size_t bytes, const ompx_part_t *parts, size_t count);

/* Makes an event of this rank with so many dependences. With 0 its function runs at once. When it has fired,
 * its handles name nothing. OMPX_E_ARGUMENT, _FUNCTION, _MEMORY, _ENDED. */
OMPX_API int ompx_event_create(uint32_t dependences, ompx_event_handler fn, const void *data, size_t bytes,
                               ompx_event_t *event);

/* For `slot` of ompx_event_satisfy: the first dependence that is not satisfied yet. */
#define OMPX_ANY_SLOT (-1)

/* Satisfies dependence `slot` (0 to dependences - 1, or OMPX_ANY_SLOT) of an event of any rank, and sends a
 * copy of these bytes to its function. Each once. Here: OMPX_E_SET, _SLOT, _STALE. Always: _ARGUMENT,
 * _MEMORY, _ENDED, and _STALE where the handle names no rank. */
OMPX_API int ompx_event_satisfy(ompx_event_t event, int slot, const void *data, size_t bytes);

/* An event of this rank that has not fired never will. By its owner: OMPX_E_FOREIGN elsewhere. _STALE,
 * _ENDED. */
OMPX_API int ompx_event_free(ompx_event_t event);

/* Mobile objects (docs/objects.md), after PREMA (sections 1.1, 3 and 4.2 of that paper): data that functions
 * are invoked on wherever they are, and that move from rank to rank. Results and lines as above. Where an
 * object's home, the rank that made it, is another one, a handle that names nothing is found there: the call
 * returns 0, the home prints the line, and the future of such an invocation has no value: ompx_future_wait,
 * _size and _get return OMPX_E_STALE. */

/* An object: plain numbers, which may be copied, sent and compared, alike on every rank. All zero: none. */
typedef struct ompx_object_t {
    int32_t rank; /* the rank that made it, wherever it is now */
    uint32_t id;
    uint64_t generation; /* never 0 */
} ompx_object_t;

/* Makes an object of `bytes` bytes on the calling rank: a copy of those at `data`, or zero if that is null.
 * Its size is for ever. It lies at an address that is a multiple of 16, another one after each move; what
 * moves is the bytes. OMPX_E_ARGUMENT, _MEMORY, _ENDED. */
OMPX_API int ompx_object_create(const void *data, size_t bytes, ompx_object_t *object);

/* Functions that move and free objects which are more than bytes: with pointers inside, or of a size that
 * changes. A static object of the executable or of a shared object that all ranks have loaded in the same
 * version. They are called in tasks, as handlers are, when nobody uses the object. */
typedef struct ompx_object_type_t {
    /* Returns memory of malloc, which the runtime frees, with all that the object can be made from, and
     * writes how many bytes that is. `free` is called next. */
    void *(*pack)(const void *object, size_t *bytes);
    /* Makes the object from those bytes (aligned to 16, valid for the call) on the rank it has moved to: what
     * it returns is what handlers get there. */
    void *(*unpack)(const void *packed, size_t bytes);
    /* The object is not used any more on this rank: it has moved, or was freed. May be null. */
    void (*free)(void *object);
} ompx_object_type_t;

/* Makes an object of `data`, which is the runtime's from here on until type->free gets it. OMPX_E_ARGUMENT
 * (also without pack or unpack), _FUNCTION (the type lies in no executable and no shared object), _ENDED. */
OMPX_API int ompx_object_create_typed(const ompx_object_type_t *type, void *data, ompx_object_t *object);

/* How a handler uses its object. */
enum {
    OMPX_READ = 1, /* together with others that read */
    OMPX_WRITE = 2 /* alone */
};

/* A handler: the object that it was invoked on, its data where they are, for this call; else as ompx_handler.
 */
typedef void (*ompx_object_handler)(ompx_object_t object, void *data, const void *args, size_t bytes,
                                    ompx_result_t *result);

/* Runs fn(object, data, args, bytes, result) on the rank where the object is, at a time when no other handler
 * uses the object in a way that conflicts. The rest as ompx_invoke: the bytes are copied, `future` may be
 * null, the handler is an untied explicit task and may wait, fork, make tasks, invoke. While it waits it
 * keeps the object: what it waits for must not need an access that conflicts with its own. Readers begin
 * before writers that wait while other readers run; so a reader may wait for another one, and objects that
 * are read without a pause are not written. Handlers of one object begin in any order. OMPX_E_ARGUMENT (also
 * `mode`), _FUNCTION, _MEMORY, _STALE, _ENDED. */
OMPX_API int ompx_object_invoke(ompx_object_t object, int mode, ompx_object_handler fn, const void *args,
                                size_t bytes, ompx_future_t *future);

/* Moves the object to a rank, as soon as no handler uses it; what waits for the object goes along. Does not
 * wait. Of several moves that wait the last one holds. OMPX_E_RANK, _STALE, _ENDED. */
OMPX_API int ompx_object_migrate(ompx_object_t object, int rank);

/* Frees the object, wherever it is, after what waits for it there now. What comes later finds no object.
 * OMPX_E_STALE, _ENDED. */
OMPX_API int ompx_object_free(ompx_object_t object);

/* As ompx_event_satisfy, with an object instead of bytes. When all that the event depends on has come, the
 * object is brought to the event's rank, and the function has it for itself, as a handler that writes: its
 * part is the object's data and their size (0 where a type made them). An object that does not exist by then
 * gives a line and a part of null and 0. Errors as of ompx_event_satisfy, and OMPX_E_STALE where the object's
 * handle names no rank. */
OMPX_API int ompx_event_satisfy_object(ompx_event_t event, int slot, ompx_object_t object);

/* Balance: whether a rank with nothing to do is given objects for which handlers wait on others. "off",
 * "half" of those for which no worker has time, or "one" at a time; of this rank, from here on, instead of
 * what OMPX_BALANCE says (off). OMPX_E_ARGUMENT. */
OMPX_API int ompx_set_balance(const char *amount);

/* Returns when condition(argument) has answered with another value than 0, for what tasks, handlers and
 * messages make true. As ompx_suspend_until, which is for waits inside of libraries, but always a task
 * scheduling point like ompx_future_wait, whatever OMPX_TASK_AWARE_MPI says. Outside of parallel regions the
 * kernel thread yields between two questions. PREMA calls it wait_until. */
OMPX_API void ompx_wait_until(int (*condition)(void *argument), void *argument);

/* Persistent tasks and trays (docs/persistent.md), after XSCALA (chapter 4): tasks with buffers of their own,
 * on ranks, which execute a procedure again and again. A process without ranks is rank 0 of one.
 *
 * Order. Any rank, and any thread, may call all of this with any handle. What one thread asks of a task is
 * done in that order, as far as it concerns the same tray or an execution; the calls return at once unless
 * they say that they wait. A transfer comes after what the sending task was asked before, and before what the
 * receiving task is asked afterwards. So a program that would be right if every call did its work at once is
 * right. Not to be called by a procedure: what waits for its own task.
 *
 * A rank may be 4096 operations or 64 MiB ahead of another one; then its calls wait, except in functions that
 * were invoked and procedures.
 *
 * Results as above. What only the task's rank can tell it prints: `rank 0 asked task 5 of rank 1 to send tray
 * 3: the task has no such tray; nothing is changed`; the call has returned 0 by then. No memory for a tray
 * ends all ranks with a line. */

/* A task: plain numbers, which may be copied, sent and compared. All zero: none. */
typedef struct ompx_ptask_t {
    int32_t rank; /* where it is */
    uint32_t id;
    uint64_t generation;
} ompx_ptask_t;

/* A tray of a task, by a number that the program chooses. Trays come into being by what writes them. */
typedef struct ompx_tray_t {
    ompx_ptask_t task;
    uint32_t tray;
    uint32_t reserved; /* 0 */
} ompx_tray_t;

static inline ompx_tray_t ompx_tray(ompx_ptask_t task, uint32_t tray)
{
    ompx_tray_t it;
    it.task = task;
    it.tray = tray;
    it.reserved = 0;
    return it;
}

/* The type of a tray's elements: C's numbers, or a structure of the program's by its size. */
typedef uint64_t ompx_type_t;
#define OMPX_ENTITY(bytes) ((ompx_type_t)(bytes) << 8)
#define OMPX_BYTE OMPX_ENTITY(1)
#define OMPX_INT8 ((ompx_type_t)0x101)
#define OMPX_INT16 ((ompx_type_t)0x201)
#define OMPX_INT32 ((ompx_type_t)0x401)
#define OMPX_INT64 ((ompx_type_t)0x801)
#define OMPX_UINT8 ((ompx_type_t)0x102)
#define OMPX_UINT16 ((ompx_type_t)0x202)
#define OMPX_UINT32 ((ompx_type_t)0x402)
#define OMPX_UINT64 ((ompx_type_t)0x802)
#define OMPX_FLOAT ((ompx_type_t)0x403)
#define OMPX_DOUBLE ((ompx_type_t)0x803)
#define OMPX_INT (OMPX_ENTITY(sizeof(int)) | 1)
#define OMPX_LONG (OMPX_ENTITY(sizeof(long)) | 1)

/* Devices that tasks may be on: those of these kinds that OMPX_DEVICES (cpu, gpu, all) allows. Each rank that
 * runs target regions is one CPU; GPUs run no such tasks yet. */
enum { OMPX_CPU = 1, OMPX_GPU = 2, OMPX_ALL_DEVICES = 3 };
OMPX_API int ompx_count_devices(int kinds);

/* Makes `count` tasks without procedure and trays, on rank `rank`, which may be any; or with OMPX_ANY_RANK on
 * those that are devices, in turn. Waits for the ranks' answers: from then on every rank may use the handles.
 * OMPX_E_RANK, _ARGUMENT, _COUNT, _DEVICE (OMPX_DEVICES=gpu), _ENDED. */
#define OMPX_ANY_RANK (-1)
OMPX_API int ompx_ptask_create(int rank, int count, ompx_ptask_t *tasks);

/* Tasks that the file of OMPX_TASKS names, in the grammar of OMPX_SCHED=manual (docs/placement.md): every
 * rank reads it, and such a task is there without having been made. One more than the largest number; 0
 * without a file. The handle of number `number`. OMPX_E_FILE, _NUMBER, _ARGUMENT. */
OMPX_API int ompx_ptask_count(void);
OMPX_API int ompx_ptask_numbered(int number, ompx_ptask_t *task);

/* A procedure that is under way. */
typedef struct ompx_run_t ompx_run_t;

/* What a task executes. `args`: as for ompx_handler. An untied explicit task of the rank's pool, which may
 * wait, fork, make tasks, invoke, and call what is here. */
typedef void (*ompx_procedure)(const ompx_run_t *run, const void *args, size_t bytes);

/* The procedure of the task's executions from here on. OMPX_E_ARGUMENT, _FUNCTION, _STALE, _ENDED. */
OMPX_API int ompx_ptask_set(ompx_ptask_t task, ompx_procedure fn);

/* The task runs its procedure with a copy of these bytes. One execution at a time, and nothing else with its
 * trays meanwhile. OMPX_E_ARGUMENT, _MEMORY, _STALE, _ENDED. */
OMPX_API int ompx_ptask_execute(ompx_ptask_t task, const void *args, size_t bytes);

/* Waits until these tasks have done all that this rank has asked of them; or all tasks of all ranks. As
 * ompx_future_wait. What procedures have asked of other tasks counts for the rank that they ran on.
 * OMPX_E_ARGUMENT, _COUNT, _STALE, _ENDED. */
OMPX_API int ompx_ptask_wait(const ompx_ptask_t *tasks, int count);
OMPX_API int ompx_ptask_wait_all(void);

/* The task goes, with its trays, when it has done what it was asked; its handle names nothing from here on.
 * Or all tasks of all ranks. OMPX_E_STALE, _ENDED. */
OMPX_API int ompx_ptask_free(ompx_ptask_t task);
OMPX_API int ompx_ptask_free_all(void);

/* A tray of `count` elements, all zero, in place of what was there. OMPX_E_TYPE, _MEMORY, _STALE, _ENDED;
 * also the others. */
OMPX_API int ompx_tray_alloc(ompx_tray_t tray, ompx_type_t type, uint64_t count);

/* A tray goes when all that was asked before and needs it is done: nobody has to wait for that. Or all of a
 * task. */
OMPX_API int ompx_tray_free(ompx_tray_t tray);
OMPX_API int ompx_tray_free_all(ompx_ptask_t task);

/* A tray gets a copy of `count` elements. The bytes are copied before the call returns. OMPX_E_ARGUMENT. */
OMPX_API int ompx_tray_write(ompx_tray_t tray, ompx_type_t type, uint64_t count, const void *from);

/* Waits, then copies a tray, which has to be of exactly `bytes` bytes. OMPX_E_TRAY, _SIZE, _ARGUMENT. */
OMPX_API int ompx_tray_read(ompx_tray_t tray, void *into, size_t bytes);

/* Waits, then says how many bytes it has and, unless `type` is null, their type. OMPX_E_TRAY, _ARGUMENT. */
OMPX_API int ompx_tray_size(ompx_tray_t tray, size_t *bytes, ompx_type_t *type);

/* `into` becomes a copy of `from`, type and size included. */
OMPX_API int ompx_tray_send_recv(ompx_tray_t from, ompx_tray_t into);

/* The same for a list of trays; `from` may be among them. OMPX_E_COUNT, _ARGUMENT; also the others that have
 * lists. */
OMPX_API int ompx_tray_bcast(ompx_tray_t from, const ompx_tray_t *into, int count);

/* The trays become parts of `from`, in the order of the list: as many elements each, the first ones one more
 * where that does not come out even. */
OMPX_API int ompx_tray_scatter(ompx_tray_t from, const ompx_tray_t *into, int count);

/* `into` becomes all elements of the list's trays, which have one type, in its order. */
OMPX_API int ompx_tray_gather(const ompx_tray_t *from, int count, ompx_tray_t into);

/* How elements are combined. With OMPX_USER by a function: into[i] = into[i] with from[i]; for any type, and
 * two trays at a time of equal size. It need not commute. */
enum {
    OMPX_SUM, /* integers wrap around */
    OMPX_PROD,
    OMPX_MIN,
    OMPX_MAX,
    OMPX_AND, /* 1 or 0 */
    OMPX_OR,
    OMPX_XOR,
    OMPX_BAND, /* bits, of integers */
    OMPX_BOR,
    OMPX_BXOR,
    OMPX_USER
};
typedef void (*ompx_combiner)(void *into, const void *from, size_t count);

/* `into` becomes the trays of the list, combined element by element from the first to the last, on whichever
 * ranks they are: so floating point has the same rounding on any number of ranks. All have the given type and
 * one size. `fn` is null but for OMPX_USER. OMPX_E_TYPE, _FUNCTION. */
OMPX_API int ompx_tray_reduce(const ompx_tray_t *from, int count, ompx_tray_t into, ompx_type_t type, int op,
                              ompx_combiner fn);

/* The same, for as many trays. */
OMPX_API int ompx_tray_allreduce(const ompx_tray_t *from, const ompx_tray_t *into, int count,
                                 ompx_type_t type, int op, ompx_combiner fn);

/* As ompx_tray_scatter, of a file's bytes, which are elements as they lie in memory. Only the calling rank
 * needs the file. OMPX_E_FILE. */
OMPX_API int ompx_tray_scatter_file(const char *path, ompx_type_t type, const ompx_tray_t *into, int count);

/* Waits for the trays, and writes their elements, in the order of the list, into a new file. If that fails,
 * what was there before stays. OMPX_E_FILE, _TRAY, _TYPE. */
OMPX_API int ompx_tray_gather_file(const ompx_tray_t *from, int count, ompx_type_t type, const char *path);

/* For procedures: the trays of the task. The addresses hold until the procedure returns, and are aligned to
 * 16; `bytes`, unless null, gets the size. Null, and a line, if there is no such tray; null also for one of
 * no bytes. ompx_run_in: nobody may write there. ompx_run_inout: a copy is made if others still have what is
 * there. ompx_run_out: a new tray, all zero, in place of what was there. */
OMPX_API const void *ompx_run_in(const ompx_run_t *run, uint32_t tray, size_t *bytes);
OMPX_API void *ompx_run_inout(const ompx_run_t *run, uint32_t tray, size_t *bytes);
OMPX_API void *ompx_run_out(const ompx_run_t *run, uint32_t tray, ompx_type_t type, uint64_t count);

/* The task whose procedure it is. */
OMPX_API ompx_ptask_t ompx_run_task(const ompx_run_t *run);

/* Distributed memory (docs/persistent.md): `count` elements at one address on every rank, zero. Each rank has
 * bytes of its own at all of it, and memory for those that it touches; which rank's count for an element says
 * the layout: with OMPX_BLOCK each device has one piece, in order; else `block` elements in turn. The address
 * holds on every rank when the call returns, and means the same there: it may be sent, and passed to target
 * regions by is_device_ptr. Waits for all ranks, as all of these but ompx_dist_rank and _device. OMPX_E_TYPE,
 * _MEMORY (no memory, or no address that all ranks have free), _ARGUMENT, _ENDED. */
#define OMPX_BLOCK 0
OMPX_API int ompx_dist_alloc(uint64_t count, ompx_type_t type, uint64_t block, void **memory);

/* It goes, on every rank: nobody uses it any more. `memory` is what ompx_dist_alloc gave, here and below.
 * OMPX_E_STALE. */
OMPX_API int ompx_dist_free(void *memory);

/* The rank that an element belongs to; the same as a number for the device clause (of the host, where that
 * rank is no device). OMPX_E_STALE, _RANGE. */
OMPX_API int ompx_dist_rank(const void *memory, uint64_t index);
OMPX_API int ompx_dist_device(const void *memory, uint64_t index);

/* The next target region that the calling task creates works on these elements: where the choice of its
 * device is the runtime's (ompx_device_any), policies count them as data that are there on the rank that they
 * belong to, and that have to be brought to all others (docs/placement.md). Nothing is copied. Up to 4 calls
 * for a region. OMPX_E_STALE, _RANGE, _COUNT. */
OMPX_API int ompx_set_task_data(const void *memory, uint64_t index, uint64_t count);

/* Copies `count` elements from `index` on: of the ranks that they belong to (OMPX_OWNER), or of rank `rank`,
 * to or from memory of this rank, which may be the same address. Returns when they are there. Not ordered
 * with what others do to the same elements meanwhile. OMPX_E_STALE, _RANGE, _RANK, _ARGUMENT, _ENDED. */
#define OMPX_OWNER (-1)
OMPX_API int ompx_dist_get(const void *memory, int rank, uint64_t index, uint64_t count, void *into);
OMPX_API int ompx_dist_put(void *memory, int rank, uint64_t index, uint64_t count, const void *from);

#ifdef __cplusplus
}
#endif

#endif
