/* Explicit tasks without dependences. Nanoseconds for one task (for one group of eight: `taskgroup`). */
#include "probe.h"

#include <omp.h>

enum {
    TASKS = 10000,
    WORK_TASKS = 2000,
    PAIRS = 1000,
    GROUPS = 250,
    GROUP = 8,
    FIB = 20,
    FIB_TASKS = 21890,
    FIB_VALUE = 6765,
    FIB_SAMPLES = 30,
    FIBS_OF_A_SAMPLE = 3
};

static const double body_us = 1;

static void one_producer(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < TASKS; ++j) {
#pragma omp task
            NOTHING;
        }
    }
}

static void one_producer_work(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
        for (int j = 0; j < WORK_TASKS; ++j) {
#pragma omp task
            {
                ran_here();
                work(body_us);
            }
        }
    }
}

static void all_producers(long times)
{
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
        for (int j = 0; j < PAIRS; ++j) {
#pragma omp task
            NOTHING;
        }
#pragma omp barrier
    }
}

static void task_taskwait(long times)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < times * PAIRS; ++i) {
#pragma omp task
        NOTHING;
#pragma omp taskwait
    }
}

static void task_if0(long times)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < times * PAIRS; ++i) {
#pragma omp task if (0)
        NOTHING;
    }
}

static void taskgroup(long times)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < times * GROUPS; ++i) {
#pragma omp taskgroup
        for (int j = 0; j < GROUP; ++j) {
#pragma omp task
            NOTHING;
        }
    }
}

static int fib(int n)
{
    if (n < 2)
        return n;
    int a, b;
#pragma omp task shared(a)
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void fib_20(long times)
{
    for (long i = 0; i < times; ++i) {
        int value = 0;
#pragma omp parallel
#pragma omp single
        value = fib(FIB);
        if (value != FIB_VALUE)
            wrong("fib");
    }
}

/* Nanoseconds of processor time for one task, whichever thread used it: a thread that polls counts. */
static double fib_processor(double *median)
{
    double samples[FIB_SAMPLES];
    fib_20(1);
    for (int i = 0; i < FIB_SAMPLES; ++i) {
        const double used = processor_seconds();
        fib_20(FIBS_OF_A_SAMPLE);
        samples[i] = (processor_seconds() - used) * 1e9 / ((double)FIBS_OF_A_SAMPLE * FIB_TASKS);
    }
    *median = median_of(samples, FIB_SAMPLES);
    return samples[0];
}

static void taskloop(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
        for (int j = 0; j < TASKS; ++j)
            NOTHING;
    }
}

static void taskloop_work(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(1)
        for (int j = 0; j < WORK_TASKS; ++j) {
            ran_here();
            work(body_us);
        }
    }
}

static void taskyield(long times)
{
#pragma omp parallel
#pragma omp single
    for (long i = 0; i < times * PAIRS; ++i) {
#pragma omp taskyield
    }
}

const struct probe task_probes[] = {
    {"tasks", one_producer, TASKS, 0, 0, 0},
    {"tasks_work", one_producer_work, WORK_TASKS, 0, 0, 0},
    {"tasks_all", all_producers, PAIRS, 1, 0, 0},
    {"task_taskwait", task_taskwait, PAIRS, 0, 0, 0},
    {"task_if0", task_if0, PAIRS, 0, 0, 0},
    {"taskgroup", taskgroup, GROUPS, 0, 0, 0},
    {"fib", fib_20, FIB_TASKS, 0, 0, 0},
    {"taskloop", taskloop, TASKS, 0, 0, 0},
    {"taskloop_work", taskloop_work, WORK_TASKS, 0, 0, 0},
    {"taskyield", taskyield, PAIRS, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};

const struct probe task_processor_probes[] = {
    {"fib_processor", 0, 0, 0, fib_processor, "ns"},
    {0, 0, 0, 0, 0, 0},
};
