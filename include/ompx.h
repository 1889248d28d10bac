/* ompx.h: what Gangway offers beyond OpenMP, for C and C++.
 *
 * The functions are in libgangway.so. A program that is linked with it just calls them. One that must also start under
 * another OpenMP library defines OMPX_WEAK before it includes this file, is built with -fPIC, and asks
 * `if (ompx_get_counters)` before it calls.
 *
 * All functions may be called by any thread at any time, inside and outside of parallel regions; none of them fails.
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

#ifdef __cplusplus
}
#endif

#endif
