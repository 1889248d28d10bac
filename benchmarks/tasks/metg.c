/* Minimum effective task granularity, after Task Bench (Slaughter and others, SC 2020): the average
 * time of a task, beyond which a graph of such tasks keeps the processors at least half as busy as
 * the kernel alone does.
 *
 *   metg --pattern P --threads T [options]    nanoseconds: METG(50 %)
 *
 * | pattern | task i reads, of the row before                                                |
 * |---------|--------------------------------------------------------------------------------|
 * | stencil | its neighbours and its own cell                                                |
 * | fft     | its own cell and the one that differs in one bit of i, another bit each step   |
 * | tree    | its parent, until there are W cells; then its two children, until there is one |
 * | nearest | all cells at a distance of up to five                                          |
 *
 * The kernel computes and touches no memory. Its speed is measured without tasks. The efficiency of
 * a run is the time of its kernels, divided by the threads, over the time that it took; its
 * granularity is that time, multiplied by the threads, over the tasks. Runs begin with small tasks
 * and go on with larger ones. Between the last granularity below 50 % and the first one above, the
 * figure is interpolated; it is `inf` if none is above. The search goes upwards, because other
 * processes can only lower the efficiency, and disturb long runs more than short ones.
 *
 * After each run all values are compared with those of a serial computation. A value is made of
 * those that it reads, so a task that began too early changes what follows. */
#define _GNU_SOURCE
#include "metg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Nanoseconds of the smallest kernels, and the factor by which they grow. While no size has reached
 * 50 %, they grow to `soon_ns`, and to `most_ns` once half of the budget is spent. */
static const double first_ns = 20, growth = 1.4, soon_ns = 16e3, most_ns = 128e3;

static const double wanted_efficiency = 0.5;

/* Kernels grow to so many times the size at which the least time reaches 50 %, so that the median may
 * reach it, too. */
static const double median_margin = 4;

/* Milliseconds spent on one size in one pass. */
static const double ms_per_size = 3;

enum {
    TRIALS = 400,
    TRIAL_ITERATIONS = 10000,
    MOST_SIZES = 32,
    MOST_RUNS = 400,
    MOST_PASSES = 100,
    RADIUS = (MOST_BEFORE - 1) / 2
};

struct graph graph;
struct cell rows[2][MOST_WIDTH];
int team_size = 2;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* A chain of multiplications. It is over when it returns: otherwise a processor would compute while
 * it runs the instructions of the runtime that follow, and small tasks would seem to cost nothing.
 */
static void kernel(unsigned long x, long iterations)
{
    for (long i = 0; i < iterations; ++i) {
        x = x * 6364136223846793005ul + 1442695040888963407ul;
        __asm__ volatile("" : "+r"(x));
    }
#if defined __x86_64__
    __asm__ volatile("lfence" : : "r"(x) : "memory");
#elif defined __aarch64__
    __asm__ volatile("dsb sy\n\tisb" : : "r"(x) : "memory");
#endif
}

static unsigned long value_of(const struct cell *from, int step, int i)
{
    const struct reads *reads = &graph.reads[step % graph.period][i];
    unsigned long x = (unsigned long)step * MOST_WIDTH + (unsigned long)i;
    for (int j = 0; j < reads->count; ++j)
        x = (x ^ from[reads->cells[j]].value) * 0x9e3779b97f4a7c15ul;
    return x ^ x >> 29;
}

void metg_task(int step, int i, long iterations)
{
    kernel((unsigned long)i, iterations);
    rows[step % 2][i].value = value_of(rows[(step + 1) % 2], step, i);
}

static void clear(struct cell (*cells)[MOST_WIDTH])
{
    for (int i = 0; i < MOST_WIDTH; ++i)
        cells[0][i].value = cells[1][i].value = (unsigned long)i;
}

/* Compares with a serial computation, which is done once. */
static int is_right(void)
{
    static struct cell expected[2][MOST_WIDTH];
    static int is_known;
    if (!is_known) {
        clear(expected);
        for (int step = 0; step < graph.steps; ++step)
            for (int i = 0; i < graph.width[step % graph.period]; ++i)
                expected[step % 2][i].value = value_of(expected[(step + 1) % 2], step, i);
        is_known = 1;
    }
    return memcmp(rows, expected, sizeof rows) == 0;
}

/* --- patterns --- */

static void read_range(struct reads *reads, int first, int last, int width)
{
    for (int j = first < 0 ? 0 : first; j <= last && j < width; ++j)
        reads->cells[reads->count++] = j;
}

/* All cells at a distance of up to `radius`. */
static void neighbours(int width, int radius)
{
    graph.period = 1;
    graph.width[0] = width;
    for (int i = 0; i < width; ++i)
        read_range(&graph.reads[0][i], i - radius, i + radius, width);
}

static void butterflies(int width)
{
    for (int bit = 1; bit < width; bit *= 2) {
        const int at = graph.period++;
        graph.width[at] = width;
        for (int i = 0; i < width; ++i)
            graph.reads[at][i] = (struct reads){2, {i, i ^ bit}};
    }
}

static void tree(int width)
{
    for (int size = 1; size <= width; size *= 2) {
        const int at = graph.period++;
        graph.width[at] = size;
        for (int i = 0; i < size; ++i)
            graph.reads[at][i] = size == 1 ? (struct reads){2, {0, 1}} : (struct reads){1, {i / 2}};
    }
    for (int size = width / 2; size > 1; size /= 2) {
        const int at = graph.period++;
        graph.width[at] = size;
        for (int i = 0; i < size; ++i)
            graph.reads[at][i] = (struct reads){2, {2 * i, 2 * i + 1}};
    }
}

static int make_graph(const char *pattern, int width)
{
    const int is_power = (width & (width - 1)) == 0;
    if (strcmp(pattern, "stencil") == 0)
        neighbours(width, 1);
    else if (strcmp(pattern, "nearest") == 0)
        neighbours(width, RADIUS);
    else if (strcmp(pattern, "fft") == 0 && is_power)
        butterflies(width);
    else if (strcmp(pattern, "tree") == 0 && is_power)
        tree(width);
    return graph.period > 0;
}

static double tasks_per_thread(void)
{
    long count = 0;
    for (int step = 0; step < graph.steps; ++step)
        count += graph.width[step % graph.period];
    return (double)count / team_size;
}

/* --- the sweep --- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Nanoseconds of one iteration, on a processor of its own. */
static double calibrate(void)
{
    double least = 1e18;
    for (int i = 0; i < TRIALS; ++i) {
        const double start = now_ns();
        kernel((unsigned long)i, TRIAL_ITERATIONS);
        const double took = now_ns() - start;
        if (took < least)
            least = took;
    }
    return least / TRIAL_ITERATIONS;
}

/* One of the two figures: by the least time of each granularity, and by the median. */
struct crossing {
    /* Of the last run below 50 %; 0 before there was one. */
    double efficiency, granularity;
    double metg;
    int is_found;
};

/* Adds the next size, which is larger than the last one. */
static void add_size(struct crossing *c, double efficiency, double granularity)
{
    if (c->is_found)
        return;
    c->metg = efficiency >= wanted_efficiency ? granularity : INFINITY;
    c->is_found = efficiency >= wanted_efficiency;
    if (c->is_found && c->granularity > 0) {
        const double part = (wanted_efficiency - c->efficiency) / (efficiency - c->efficiency);
        c->metg = c->granularity + part * (granularity - c->granularity);
    }
    c->efficiency = efficiency;
    c->granularity = granularity;
}

/* All runs with kernels of one size. */
struct size {
    long iterations;
    /* Nanoseconds: of the kernels of a run on all threads, and of each run. */
    double ideal, took[MOST_RUNS], least;
    int runs;
};

static void run(struct size *size)
{
    double spent = 0;
    while (size->runs < MOST_RUNS && spent < ms_per_size * 1e6) {
        clear(rows);
        const double start = now_ns();
        metg_run(size->iterations);
        const double took = now_ns() - start;
        if (!is_right()) {
            fprintf(stderr, "wrong result: a task began before those that it follows\n");
            exit(1);
        }
        size->least = size->runs == 0 || took < size->least ? took : size->least;
        size->took[size->runs++] = took;
        spent += took;
    }
}

/* Runs all sizes, the small ones first, in several passes: the runs of a size are spread over the
 * time of the process, in which there may be other processes. Returns how many sizes have run. */
static int run_all(struct size *sizes, int passes, double budget_ms)
{
    const double ns = calibrate(), tasks = tasks_per_thread(), start = now_ns();
    double largest_ns = soon_ns;
    int count = 0, is_found = 0;
    for (int pass = 0; pass < passes; ++pass) {
        const double spent_ms = (now_ns() - start) * 1e-6;
        if (pass > 0 && spent_ms > budget_ms)
            break;
        if (!is_found && spent_ms > budget_ms / 2)
            largest_ns = largest_ns * 2 < most_ns ? largest_ns * 2 : most_ns;
        double kernel_ns = first_ns;
        for (int i = 0; i < MOST_SIZES && kernel_ns <= largest_ns; ++i, kernel_ns *= growth) {
            sizes[i].iterations = (long)(kernel_ns / ns);
            sizes[i].ideal = (double)sizes[i].iterations * ns * tasks;
            run(&sizes[i]);
            count = i + 1 > count ? i + 1 : count;
            if (sizes[i].ideal >= wanted_efficiency * sizes[i].least &&
                (!is_found || largest_ns > kernel_ns * median_margin)) {
                largest_ns = kernel_ns * median_margin;
                is_found = 1;
            }
        }
    }
    return count;
}

static void sweep(int passes, double budget_ms, int is_shown)
{
    static struct size sizes[MOST_SIZES];
    struct crossing by_least = {0}, by_median = {0};
    const double tasks = tasks_per_thread();
    int runs = 0;
    metg_run(1);
    for (int i = 0, count = run_all(sizes, passes, budget_ms); i < count; ++i) {
        struct size *const size = &sizes[i];
        qsort(size->took, (size_t)size->runs, sizeof *size->took, ascending);
        const double median = (size->took[(size->runs - 1) / 2] + size->took[size->runs / 2]) / 2;
        add_size(&by_least, size->ideal / size->least, size->least / tasks);
        add_size(&by_median, size->ideal / median, median / tasks);
        runs += size->runs;
        if (is_shown)
            printf("# %4d of %6.0f ns: %.3f %.3f of the peak, tasks of %.0f and %.0f ns\n", size->runs,
                   size->ideal / tasks, size->ideal / size->least, size->ideal / median, size->least / tasks,
                   median / tasks);
    }
    printf("# least\tmedian\tunit\tsamples\n%.2f\t%.2f\tns\t%d\n", by_least.metg, by_median.metg, runs);
}

int main(int argc, char **argv)
{
    const char *pattern = "";
    int width = 0, passes = 20, is_shown = 0, is_usage_right = 1;
    double budget_ms = 3000;
    graph.steps = 200;
    for (int at = 1; at + 1 < argc; at += 2) {
        const char *option = argv[at], *value = argv[at + 1];
        if (strcmp(option, "--pattern") == 0)
            pattern = value;
        else if (strcmp(option, "--threads") == 0)
            team_size = atoi(value);
        else if (strcmp(option, "--width") == 0)
            width = atoi(value);
        else if (strcmp(option, "--steps") == 0)
            graph.steps = atoi(value);
        else if (strcmp(option, "--passes") == 0)
            passes = atoi(value);
        else if (strcmp(option, "--budget-ms") == 0)
            budget_ms = atof(value);
        else if (strcmp(option, "--show") == 0)
            is_shown = atoi(value);
        else
            is_usage_right = 0;
    }
    width = width == 0 ? 4 * team_size : width;
    if (!is_usage_right || team_size < 1 || width < 2 || width > MOST_WIDTH || graph.steps < 1 ||
        passes < 1 || passes > MOST_PASSES || !make_graph(pattern, width)) {
        fprintf(stderr, "usage: metg --pattern stencil|fft|tree|nearest --threads T [--width W] [--steps S] "
                        "[--passes P] [--budget-ms B] [--show 1]; fft and tree want a power of two\n");
        return 2;
    }
    metg_prepare();
    sweep(passes, budget_ms, is_shown);
    return 0;
}
