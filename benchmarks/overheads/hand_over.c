/* How long a successor waits: nanoseconds from the end of its predecessor's body to the begin of
 * its own.
 *
 * All tasks of a round are made before the first may begin, so that making them is not in the
 * figure. A round has fewer tasks than the runtimes' limits: libgomp runs new tasks at once from 64
 * for each thread on. */
#define _GNU_SOURCE
#include "probe.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>

enum {
    LINKS = 48,
    PAIRS = 24,
    ROUNDS = 200,
    CLOCK_TRIALS = 200,
    MOST_WAITS = ROUNDS * LINKS,
    LEAST_WAITS = 100
};

/* A thread that has no processor takes nothing over: rounds go on for at most this time. */
static const double most_seconds = 5;

/* Bodies of the producers and the consumers: a consumer has ended long before the next producer
 * has. */
static const double produce_us = 3, consume_us = 0.5;

#if defined __x86_64__
/* The time-stamp counter, read after all earlier and before all later instructions. */
static long stamp(void)
{
    unsigned processor;
    const unsigned long ticks = __builtin_ia32_rdtscp(&processor);
    __builtin_ia32_lfence();
    return (long)ticks;
}
#else
static long stamp(void)
{
    return (long)(now() * 1e9);
}
#endif

static double ns_per_tick;
/* Ticks between two stamps taken one after the other: the least of `CLOCK_TRIALS`. */
static long stamp_cost = 1l << 40;

static void calibrate(void)
{
    const double start = now();
    const long first = stamp();
    while (now() - start < 2e-3)
        ;
    ns_per_tick = (now() - start) * 1e9 / (double)(stamp() - first);
    for (int i = 0; i < CLOCK_TRIALS; ++i) {
        const long before = stamp(), took = stamp() - before;
        if (took < stamp_cost)
            stamp_cost = took;
    }
}

/* A task as it ran, on a line of its own. */
static struct run {
    long begin, end;
    int thread;
    char pad[44];
} produced[LINKS], consumed[PAIRS];

static int is_open;

/* Closes the gate, but not in a team of one thread, which runs each task at once. */
static void close_gate(void)
{
    is_open = team_size == 1;
}

/* The first task of a chain waits here until all tasks are made. Every 1000 looks it gives up its
 * processor, which the creating thread may need. */
static void gate(void)
{
    for (long looks = 1; !__atomic_load_n(&is_open, __ATOMIC_ACQUIRE); ++looks)
        if (looks % 1000 == 0)
            sched_yield();
}

static double waits[MOST_WAITS];

static double waited(const struct run *before, const struct run *after)
{
    const long ticks = after->begin - before->end - stamp_cost;
    return ticks > 0 ? (double)ticks * ns_per_tick : 0;
}

static double chain(double *median)
{
    int count = 0, next = 0;
    calibrate();
    for (int round = 0; round < ROUNDS; ++round) {
        next = 0;
        close_gate();
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < LINKS; ++i) {
#pragma omp task shared(next, is_open) firstprivate(i) depend(inout : next)
                {
                    produced[i].begin = stamp();
                    if (i == 0)
                        gate();
                    if (next++ != i)
                        wrong("a successor began before its predecessor");
                    produced[i].end = stamp();
                }
            }
            __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
        }
        if (next != LINKS)
            wrong("a link was lost");
        for (int i = 1; i < LINKS; ++i)
            waits[count++] = waited(&produced[i - 1], &produced[i]);
    }
    *median = median_of(waits, count);
    return waits[0];
}

/* Adds the wait of `after`, a successor of producer `i`, if an idle other thread has run it. */
static int add_hand_over(int count, int i, const struct run *after)
{
    const int other_was_busy = i > 0 && consumed[i - 1].end > produced[i].end;
    if (after->thread != produced[i].thread && !other_was_busy)
        waits[count++] = waited(&produced[i], after);
    return count;
}

/* A producer has two successors, the next producer and its consumer. Its thread runs one of them. The
 * wait of the other one counts, if another thread runs it. */
static double producer_consumer(double *median)
{
    static long items[PAIRS];
    int count = 0;
    calibrate();
    const double start = now();
    for (int round = 0; round < ROUNDS || (count < LEAST_WAITS && now() - start < most_seconds); ++round) {
        long made = 0, sum = 0;
        close_gate();
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < PAIRS; ++i) {
#pragma omp task shared(made, is_open) firstprivate(i) depend(inout : made) depend(out : items[i])
                {
                    produced[i].begin = stamp();
                    if (i == 0)
                        gate();
                    ran_here();
                    work(produce_us);
                    items[i] = ++made;
                    produced[i].thread = omp_get_thread_num();
                    produced[i].end = stamp();
                }
#pragma omp task shared(sum) firstprivate(i) depend(in : items[i]) depend(inout : sum)
                {
                    consumed[i].begin = stamp();
                    consumed[i].thread = omp_get_thread_num();
                    ran_here();
                    work(consume_us);
                    sum += items[i];
                    consumed[i].end = stamp();
                }
            }
            __atomic_store_n(&is_open, 1, __ATOMIC_RELEASE);
        }
        if (made != PAIRS || sum != (long)PAIRS * (PAIRS + 1) / 2)
            wrong("a task was lost, or a consumer came before its producer");
        for (int i = 0; i < PAIRS - 1; ++i) {
            count = add_hand_over(count, i, &consumed[i]);
            count = add_hand_over(count, i, &produced[i + 1]);
        }
    }
    if (count == 0 && team_size > 1)
        wrong("no successor went to another thread");
    *median = median_of(waits, count);
    return waits[0];
}

const struct probe hand_over_probes[] = {
    {"hand_over_chain", 0, 0, 0, chain, "ns"},
    {"hand_over_pair", 0, 0, 0, producer_consumer, "ns"},
    {0, 0, 0, 0, 0, 0},
};
