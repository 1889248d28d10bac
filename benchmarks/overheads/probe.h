/* What all probes share: how a probe describes itself, and the work that bodies do.
 *
 * A probe repeats one construct. How often, how it is timed and what is printed is main.c's business, so that
 * all probes are measured in the same way. May not live here: anything a single probe needs. */
#ifndef PROBE_H
#define PROBE_H

/* One row. Either `repeat` or `figure` is given. */
struct probe {
    const char *name;
    /* Runs the construct `times` * `batch` times on the whole, or so often per thread if `each`. */
    void (*repeat)(long times);
    long batch;
    int each;
    /* Measures in a way of its own: the least of several, in the unit that `unit` names. */
    double (*figure)(double *median);
    const char *unit;
};

/* Lists, each ended by a probe without a name. */
extern const struct probe fork_join_probes[], worksharing_probes[], nested_probes[], task_probes[],
    task_processor_probes[], dependence_probes[], lock_probes[], process_probes[], replay_probes[],
    hand_over_probes[];

/* Threads of a team, as asked for by --threads. */
extern int team_size;

/* For an empty body: the compiler may not drop the construct around it. */
#define NOTHING __asm__ volatile("" ::: "memory")

/* Calibrates `work`; the machine may be busy, so the fastest of many trials counts. */
void work_calibrate(void);

/* Computes as long as `us` microseconds take on a processor of its own. Counts instructions, not time: a
 * thread that is off the processor does no work. */
void work(double us);

/* Writes down that the calling thread ran a task. For bodies that take a microsecond or more. */
void ran_here(void);

/* How many thread numbers `ran_here` has seen. */
int threads_seen(void);

/* Ends the process with a message: the construct gave a wrong result. */
_Noreturn void wrong(const char *what);

/* Seconds of a steady clock. */
double now(void);

/* Seconds of processor time that all threads of the process have used. */
double processor_seconds(void);

/* The middle of `count` values, which it sorts. */
double median_of(double *values, int count);

#endif
