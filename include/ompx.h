/* ompx.h: what Gangway offers beyond OpenMP, for C and C++.
 *
 * The functions are in libgangway.so. A program that is linked with it just calls them. One that must also start under
 * another OpenMP library defines OMPX_WEAK before it includes this file, is built with -fPIC, and asks
 * `if (ompx_get_counters)` before it calls.
 *
 * All functions but ompx_cluster_init may be called by any thread at any time, inside and outside of parallel regions, and do
 * not fail.
 * Fortran: ompx_lib.f90, beside this file.
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

/* Gang scheduling. The threads of a gang-scheduled parallel region are placed on distinct workers (the kernel threads that
 * run OpenMP threads) and run in the order in which gangs were made; those of other regions are work that any worker
 * without work takes. Code whose threads wait for each other in ways the runtime cannot see (spin barriers, MPI) wants
 * gangs; nested regions of independent work do better without.
 *
 * Which regions are gang-scheduled is a control variable of each task, gang-sched-var. OMP_GANG_SCHED gives its initial
 * value; a task inherits that of the task which created it, as for omp_set_num_threads. */

/* All parallel regions that the calling task and the tasks it creates encounter from here on are gang-scheduled. */
OMPX_API void ompx_set_gang_sched(void);

/* Back to what OMP_GANG_SCHED said (not set: the runtime chooses). */
OMPX_API void ompx_reset_gang_sched(void);

/* What the runtime has done since the process was started: numbers of events, none ever shrinks. */
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
} ompx_counters_t;

/* Writes the counters to `out`: its first `size` bytes, at most as many as the library knows. Returns how many bytes the
 * library knows. Later versions add counters at the end, so pass sizeof(ompx_counters_t) and, for a library that may be
 * older than this header, zero `out` first or compare the result. A null `out` only asks for the number of bytes.
 *
 *     ompx_counters_t c = {0};
 *     ompx_get_counters(&c, sizeof c);
 *
 * The calling thread's own past is counted in full; what other threads do meanwhile may be missing. The child of a fork goes
 * on from its parent's figures. With GANGWAY_STATS=1 in the environment the same figures are printed at exit. */
OMPX_API size_t ompx_get_counters(ompx_counters_t *out, size_t size);

/* MPI ranks as devices (docs/mpi.md). A program whose source knows nothing of it is started with libgangway_start.so; one that
 * is linked with the library can do without, by this call as the first thing in main:
 *
 *     int main(int argc, char **argv) {
 *         ompx_cluster_init(&argc, &argv);
 *
 * OMPX_CLUSTER says what the ranks are for each other: head (the default here): rank 0 goes on, on the other ranks this call
 * does not return, they run target regions until rank 0 ends; spmd: all ranks go on, and run regions beside main; off.
 * Returns 0, also where there is no launcher and this process is alone, or -1 (and a line on standard error) when it was
 * called before. What goes wrong ends all ranks with a line. The arguments are not changed. */
OMPX_API int ompx_cluster_init(int *argc, char ***argv);

/* A number for the device clause of target regions, also as default device: the runtime chooses the device, one that runs few
 * regions of this process and has much of what the region maps. Without devices the region runs on the host. Data constructs that
 * stand alone (target data, enter data, update) have to name a device; with this number they end the program. */
OMPX_API int ompx_device_any(void);

/* How the runtime chooses that device: from here on by this policy, a text as in OMPX_SCHED (docs/placement.md), such as "rrmc" or
 * "heftmc:lambda=0.7". Returns 0, or -1 and a line on standard error when there is no such policy; then nothing changes. */
OMPX_API int ompx_set_sched(const char *policy);

/* A device, as a policy sees it for one region. Times are estimates. */
typedef struct ompx_sched_device_t {
    uint64_t need;    /* bytes that the region would add there: what it maps and is not there, its own copies, what it declared */
    uint64_t room;    /* bytes that nobody uses there, UINT64_MAX where there is no limit; the region fits if need <= room */
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
 * `choose` returns the number of a device that the region fits on, or -1: none now; it is asked again when a region has ended. Regions whose
 * device is the runtime's choice are numbered from 0 as they are created. It is called from any thread, one call at a time, and uses no OpenMP. */
typedef struct ompx_sched_policy_t {
    uint32_t version; /* 1 */
    uint32_t reserved;
    const char *name; /* or null */
    void *data;       /* passed to the function */
    int (*choose)(void *data, uint64_t region, const ompx_sched_device_t *devices, uint32_t count);
} ompx_sched_policy_t;

/* The next target region that the calling task creates needs so many bytes of its device besides what it maps. Counted by every
 * policy where devices have a limit (OMPX_DEVICE_MEMORY). */
OMPX_API void ompx_set_task_memory(size_t bytes);

/* The rank of this process, and how many there are; 0 and 1 where it is alone. */
OMPX_API int ompx_cluster_rank(void);
OMPX_API int ompx_cluster_size(void);

/* Waiting for what the runtime cannot see: requests of a message library, events of a device (docs/mpi.md). */

/* 1 if the calling code is in a parallel region, so that ompx_suspend_until would suspend its thread; else 0. */
OMPX_API int ompx_may_suspend(void);

/* Returns when ready(argument) has answered with another value than 0. Until then the calling OpenMP thread is suspended, and its worker goes
 * on to other threads; with OMPX_TASK_AWARE_MPI=1 the thread also runs other tasks of its team, whichever they are. `ready` is asked by any
 * worker that looks for work, on any kernel thread, by one at a time, at first by the caller; it must not wait nor call an OpenMP routine, and is
 * not asked again after its answer. Where ompx_may_suspend answers 0 the kernel thread yields between two questions. */
OMPX_API void ompx_suspend_until(int (*ready)(void *argument), void *argument);

/* The caller is about to wait in a library, for some time: OpenMP threads behind it on the same worker that could go on do so on another
 * kernel thread, without the time that the runtime needs to find out. */
OMPX_API void ompx_blocks(void);

#ifdef __cplusplus
}
#endif

#endif
