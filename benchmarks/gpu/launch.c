/* What a task costs that is a launch and nothing else, beside the launch itself.
 *
 *   launch [--check] [--tasks N] [--rounds R]
 *
 * Every way does the same number of steps, each a kernel of one thread, and is over when the last one is: the
 * figure is time by steps. A chain changes one number in order; independent steps change one each. The ways
 * take turns round by round, each round begins with another one. Every round's numbers are compared with the
 * host's. */
#include "gpu.h"

static struct driver driver;
static void *step, *streams[4];
static unsigned long *cells; /* on the host; mapped to device 0 */
static address there;
static long tasks, waits;

struct put {
    address cell;
    unsigned long number;
};

static int put_step(void *stream, const void *args)
{
    const struct put *put = args;
    uintptr_t parameters[] = {put->cell, put->number};
    return launch(&driver, step, 1, 32, stream, parameters, 2);
}

static address cell(long number)
{
    return there + (address)number * sizeof *cells;
}

/* ---- by the driver
 * -------------------------------------------------------------------------------------------------------- */

static void raw(int count)
{
    for (long i = 0; i < tasks; i++) {
        struct put put = {cell(count > 1 ? i : 0), (unsigned long)i};
        DRIVER(put_step(streams[i % count], &put));
    }
    for (int s = 0; s < count; s++)
        DRIVER(driver.synchronize(streams[s]));
}

static void raw_chain(void)
{
    raw(1);
}

static void raw_independent(void)
{
    raw(4);
}

static void raw_waited(void)
{
    for (long i = 0; i < waits; i++) {
        struct put put = {cell(0), (unsigned long)i};
        DRIVER(put_step(streams[0], &put));
        DRIVER(driver.synchronize(streams[0]));
    }
}

/* ---- tasks of a function
 * -------------------------------------------------------------------------------------------------- */

static void make_task(long number, int in_chain, ompx_future_t *future)
{
    struct put put = {cell(in_chain ? 0 : number), (unsigned long)number};
    ompx_access_t access = {cells, OMPX_INOUT};
    int made = ompx_cuda_task(0, put_step, &put, sizeof put, &access, in_chain, future);
    MUST(made == 0, "error %d", made);
}

static void task_chain(void)
{
    for (long i = 0; i < tasks; i++)
        make_task(i, 1, NULL);
#pragma omp taskwait
}

static void task_independent(void)
{
    for (long i = 0; i < tasks; i++)
        make_task(i, 0, NULL);
#pragma omp taskwait
}

static void task_waited(void)
{
    for (long i = 0; i < waits; i++) {
        ompx_future_t future;
        make_task(i, 1, &future);
        MUST(ompx_future_wait(future) == 0 && ompx_future_free(future) == 0, "step %ld", i);
    }
}

/* ---- target regions
 * ------------------------------------------------------------------------------------------------------- */

static void region_chain(void)
{
    unsigned long *one = cells;
    for (long i = 0; i < tasks; i++) {
        unsigned long number = (unsigned long)i;
#pragma omp target teams distribute parallel for num_teams(1) thread_limit(32) nowait depend(inout : one[0]) \
    map(tofrom : one[0 : 1]) firstprivate(number) device(0)
        for (int k = 0; k < 1; k++)
            one[k] = one[k] * 3 + number;
    }
#pragma omp taskwait
}

static void region_independent(void)
{
    for (long i = 0; i < tasks; i++) {
        unsigned long number = (unsigned long)i, *one = cells + i;
#pragma omp target teams distribute parallel for num_teams(1) thread_limit(32) nowait map( \
        tofrom : one[0 : 1]) firstprivate(number) device(0)
        for (int k = 0; k < 1; k++)
            one[k] = one[k] * 3 + number;
    }
#pragma omp taskwait
}

static void region_waited(void)
{
    unsigned long *one = cells;
    for (long i = 0; i < waits; i++) {
        unsigned long number = (unsigned long)i;
#pragma omp target teams distribute parallel for num_teams(1) thread_limit(32) map(tofrom : one[0 : 1]) \
    firstprivate(number) device(0)
        for (int k = 0; k < 1; k++)
            one[k] = one[k] * 3 + number;
    }
}

/* ---- rounds
 * ---------------------------------------------------------------------------------------------------------------
 */

enum kind { CHAIN, INDEPENDENT, WAITED };
struct way {
    const char *name;
    void (*run)(void);
    enum kind kind;
    int is_raw;
    struct samples samples;
};
static struct way ways[] = {
    {"`cuLaunchKernel`, one stream", raw_chain, CHAIN, 1, {0}},
    {"`ompx_cuda_task`, a chain by `depend`", task_chain, CHAIN, 0, {0}},
    {"`target nowait depend`, a chain", region_chain, CHAIN, 0, {0}},
    {"`cuLaunchKernel`, four streams in turns", raw_independent, INDEPENDENT, 1, {0}},
    {"`ompx_cuda_task`, independent", task_independent, INDEPENDENT, 0, {0}},
    {"`target nowait`, independent", region_independent, INDEPENDENT, 0, {0}},
    {"`cuLaunchKernel` and `cuStreamSynchronize`", raw_waited, WAITED, 1, {0}},
    {"`ompx_cuda_task` and `ompx_future_wait`", task_waited, WAITED, 0, {0}},
    {"`target`", region_waited, WAITED, 0, {0}},
};
enum { WAYS = sizeof ways / sizeof *ways };

static long steps_of(const struct way *way)
{
    return way->kind == WAITED ? waits : tasks;
}

static unsigned long begins_with(long number)
{
    return 1000003ul * (unsigned long)number + 17;
}

static void check(const struct way *way)
{
    unsigned long wanted = begins_with(0);
    for (long i = 0; way->kind != INDEPENDENT && i < steps_of(way); i++)
        wanted = wanted * 3 + (unsigned long)i;
    for (long i = 0; i < tasks; i++) {
        if (way->kind == INDEPENDENT)
            wanted = begins_with(i) * 3 + (unsigned long)i;
        else if (i > 0)
            wanted = begins_with(i);
        MUST(cells[i] == wanted, "%s: number %ld is %lu, not %lu", way->name, i, cells[i], wanted);
    }
}

/* Without its copies. */
static void run_once(struct way *way, int is_warm)
{
    for (long i = 0; i < tasks; i++)
        cells[i] = begins_with(i);
#pragma omp target update to(cells[0 : tasks]) device(0)
    double took = 0;
    if (way->is_raw) {
        double begin = now();
        way->run();
        took = now() - begin;
    } else {
#pragma omp parallel
#pragma omp single
        {
            double begin = now();
            way->run();
            took = now() - begin;
        }
    }
#pragma omp target update from(cells[0 : tasks]) device(0)
    check(way);
    if (is_warm)
        add_sample(&way->samples, 1e6 * took / (double)steps_of(way));
}

static void print(void)
{
    printf(
        "| per step | least, µs | median, µs | of the driver's own, by least | beyond it, µs: least, median |\n|---|---:|---:|---:|---:|\n");
    const struct way *own = ways;
    for (int w = 0; w < WAYS; w++) {
        const struct samples *s = &ways[w].samples;
        if (ways[w].is_raw)
            own = &ways[w];
        printf("| %s | %.2f | %.2f | ", ways[w].name, least(s), median(s));
        if (ways[w].is_raw)
            puts("- | - |");
        else
            printf("%.2f | %.2f, %.2f |\n", least(s) / least(&own->samples), least(s) - least(&own->samples),
                   median(s) - median(&own->samples));
    }
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int is_small = is_check(argc, argv);
    tasks = option(argc, argv, "--tasks", is_small ? 60 : 2000);
    waits = tasks / 4 + 1;
    long rounds = option(argc, argv, "--rounds", is_small ? 2 : 21);
    MUST(rounds <= MOST_ROUNDS, "at most %d rounds", MOST_ROUNDS);
    gpus();
    driver = find_driver();
    use_gpu(&driver);
    step = raw_kernel(&driver, "bench_step");
    for (int s = 0; s < 4; s++)
        DRIVER(driver.create_stream(&streams[s], NON_BLOCKING));
    cells = calloc((size_t)tasks, sizeof *cells);
#pragma omp target enter data map(to : cells[0 : tasks]) device(0)
    there = (address)omp_get_mapped_ptr(cells, 0);
    MUST(there, "the numbers are not on the GPU");
    /* The first round loads images and tells the runtime what is a region. */
    for (long round = 0; round <= rounds; round++)
        for (int turn = 0; turn < WAYS; turn++)
            run_once(&ways[(turn + round) % WAYS], round > 0);
#pragma omp target exit data map(delete : cells[0 : tasks]) device(0)
    print();
    free(cells);
    return 0;
}
