/* Three graphs without a purpose: independent tasks, a chain, a tree. Elements are whole numbers, so answers
 * are exact; on large data the host looks at some of them. */
#include "graphs.h"

enum { OUT = 8192 };
#define FACTOR 6364136223846793005ul
static long count, elements, passes, stride;
static unsigned long **data, **results;

static unsigned long first_value(long which, long at)
{
    return mixed((unsigned long)which * 1000003ul + (unsigned long)at);
}

/* What a task does to an element, so often that a kernel takes its time. */
#pragma omp declare target
static inline unsigned long worked(unsigned long x, unsigned long number, long times)
{
    for (long i = 0; i < times; i++)
        x = x * FACTOR + number;
    return x;
}
#pragma omp end declare target

static unsigned long **arrays(long number, long size)
{
    unsigned long **made = room_for((size_t)number, sizeof *made);
    for (long i = 0; i < number; i++)
        made[i] = room_for((size_t)size, sizeof **made);
    return made;
}

static void fill(long number)
{
    for (long d = 0; d < number; d++)
        for (long i = 0; i < elements; i++)
            data[d][i] = first_value(d, i);
}

/* ---- independent tasks: each reads one of a few data and writes a result
 * ----------------------------------------------------- */

static long tasks;

static void independent_prepare(int is_small)
{
    tasks = is_small ? 40 : 300, count = is_small ? 8 : 64;
    elements = (is_small ? 2 : 200) * OUT, passes = is_small ? 3 : 2000, stride = is_small ? 1 : 4099;
    data = arrays(count, elements);
    results = arrays(tasks, OUT);
}

static void independent_begin(void)
{
    fill(count);
    for (long t = 0; t < tasks; t++)
        memset(results[t], 0, OUT * sizeof **results);
}

static void independent_task(long number)
{
    unsigned long *in = data[number % count], *out = results[number];
    long n = elements, times = passes;
    int device = place_in_turns(number % count);
#pragma omp target SPREAD nowait depend(in : in[0]) depend(out : out[0]) map(to : in[0 : n]) \
    map(from : out[0 : OUT]) firstprivate(n, times, number) device(device)
    for (long o = 0; o < OUT; o++) {
        unsigned long sum = 0;
        for (long i = o; i < n; i += OUT)
            sum += worked(in[i], (unsigned long)number, times);
        out[o] = sum;
    }
}

static void independent_run(void)
{
    for (long t = 0; t < tasks; t++)
        independent_task(t);
}

static void independent_check(void)
{
    for (long t = 0; t < tasks; t++)
        for (long o = t % stride; o < OUT; o += stride) {
            unsigned long wanted = 0;
            for (long i = o; i < elements; i += OUT)
                wanted += worked(first_value(t % count, i), (unsigned long)t, passes);
            MUST(results[t][o] == wanted, "independent: result %ld of task %ld is %lu, not %lu", o, t,
                 results[t][o], wanted);
        }
}

const struct graph independent_graph = {"independent", independent_prepare, independent_begin,
                                        independent_run, independent_check};

/* ---- a chain: all tasks change the same data
 * ----------------------------------------------------------------------------------- */

static long links;

static void serial_prepare(int is_small)
{
    links = is_small ? 20 : 150, count = 1;
    elements = is_small ? 2000 : 6250000, passes = is_small ? 3 : 500, stride = is_small ? 1 : 9973;
    data = arrays(count, elements);
}

static void serial_begin(void)
{
    fill(1);
}

static void serial_run(void)
{
    unsigned long *all = data[0];
    long n = elements, times = passes;
    for (long link = 0; link < links; link++) {
        int device = place_in_turns(0);
#pragma omp target SPREAD nowait depend(inout : all[0]) map(tofrom : all[0 : n]) \
    firstprivate(n, times, link) device(device)
        for (long i = 0; i < n; i++)
            all[i] = worked(all[i], (unsigned long)link, times);
    }
}

static void serial_check(void)
{
    for (long i = 0; i < elements; i += stride) {
        unsigned long wanted = first_value(0, i);
        for (long link = 0; link < links; link++)
            wanted = worked(wanted, (unsigned long)link, passes);
        MUST(data[0][i] == wanted, "serial: element %ld is %lu, not %lu", i, data[0][i], wanted);
    }
}

const struct graph serial_graph = {"serial", serial_prepare, serial_begin, serial_run, serial_check};

/* ---- a tree: a task for each leaf, then each task adds its right parent's data to its left parent's
 * ------------------------------ */

static void reduction_prepare(int is_small)
{
    count = is_small ? 16 : 256;
    elements = is_small ? 1000 : 1000000, passes = is_small ? 3 : 500, stride = is_small ? 1 : 9973;
    data = arrays(count, elements);
}

static void reduction_begin(void)
{
    fill(count);
}

static void leaf(long which)
{
    unsigned long *all = data[which];
    long n = elements, times = passes;
    int device = place_in_blocks(which, count);
#pragma omp target SPREAD nowait depend(inout : all[0]) map(tofrom : all[0 : n]) \
    firstprivate(n, times, which) device(device)
    for (long i = 0; i < n; i++)
        all[i] = worked(all[i], (unsigned long)which, times);
}

static void join(long left_one, long right_one)
{
    unsigned long *left = data[left_one], *right = data[right_one];
    long n = elements, times = passes;
    int device = place_in_blocks(left_one, count);
#pragma omp target SPREAD nowait depend(inout : left[0]) depend(in : right[0]) map(tofrom : left[0 : n]) \
    map(to : right[0 : n]) firstprivate(n, times, left_one) device(device)
    for (long i = 0; i < n; i++)
        left[i] = worked(left[i], (unsigned long)left_one, times) + right[i];
}

static void reduction_run(void)
{
    for (long i = 0; i < count; i++)
        leaf(i);
    for (long half = 1; half < count; half *= 2)
        for (long i = 0; i < count; i += 2 * half)
            join(i, i + half);
}

static void reduction_check(void)
{
    unsigned long *of = room_for((size_t)count, sizeof *of);
    for (long at = 0; at < elements; at += stride) {
        for (long i = 0; i < count; i++)
            of[i] = worked(first_value(i, at), (unsigned long)i, passes);
        for (long half = 1; half < count; half *= 2)
            for (long i = 0; i < count; i += 2 * half)
                of[i] = worked(of[i], (unsigned long)i, passes) + of[i + half];
        for (long i = 0; i < count; i++) /* those that were added to others have what they had then */
            MUST(data[i][at] == of[i], "reduction: element %ld of leaf %ld is %lu, not %lu", at, i,
                 data[i][at], of[i]);
    }
    free(of);
}

const struct graph reduction_graph = {"reduction", reduction_prepare, reduction_begin, reduction_run,
                                      reduction_check};
