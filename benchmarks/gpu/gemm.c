/* A product of matrices by blocks, with copies to the GPU, kernels and copies back under way at once: written
 * by hand with streams and events, by tasks of this runtime that do the same calls, and by target regions.
 *
 *   gemm [--check] [--blocks N] [--size N] [--rounds R]
 *
 * c = a * b, N by N blocks of so many rows. A block of a or b is copied to the GPU where it is first needed,
 * a block of c back when it is ready. All matrices are in pinned memory. The ways take turns round by round.
 * Where OMPX_CUDA names the recorder (recorder.c), the share of copying that kernels cover is printed and not
 * the time.
 *
 * The elements are small integers, so every sum is exact, and c * x is compared with a * (b * x) for a vector
 * x that each round draws anew. */
#include "gpu.h"
#include "overlap.h"

enum { COMPUTE = 4, THREADS = 128 };
static struct driver driver;
static void *multiply, *in, *out, *compute[COMPUTE];
static long blocks, size, elements; /* of a block, in a row, in all */
static double *a, *b, *c;
static unsigned teams;

static double *block(double *matrix, long row, long column)
{
    return matrix + (row * blocks + column) * elements;
}

static size_t block_bytes(void)
{
    return (size_t)elements * sizeof(double);
}

static int put_product(void *stream, address to, address left, address right, long is_first)
{
    uintptr_t parameters[] = {to, left, right, (uintptr_t)size, (uintptr_t)is_first};
    return launch(&driver, multiply, teams, THREADS, stream, parameters, 5);
}

/* ---- by hand
 * --------------------------------------------------------------------------------------------------------------
 */

struct plan {
    address a, b, c;             /* on the GPU */
    void **of_a, **of_b, **of_c; /* events: the block is there, the block is ready */
};

static address at(address matrix, long row, long column)
{
    return matrix + (address)(row * blocks + column) * block_bytes();
}

/* Copies a block in and notes it. */
static void bring(const struct plan *plan, double *matrix, long row, long column)
{
    address there = matrix == a ? plan->a : plan->b;
    void **events = matrix == a ? plan->of_a : plan->of_b;
    DRIVER(driver.copy_in(at(there, row, column), block(matrix, row, column), block_bytes(), in));
    DRIVER(driver.record(events[row * blocks + column], in));
}

static void product(const struct plan *plan, long row, long column)
{
    long number = row * blocks + column;
    void *stream = compute[number % COMPUTE];
    for (long k = 0; k < blocks; k++) {
        if (column == 0)
            bring(plan, a, row, k);
        if (row == 0)
            bring(plan, b, k, column);
        DRIVER(driver.wait_event(stream, plan->of_a[row * blocks + k], 0));
        DRIVER(driver.wait_event(stream, plan->of_b[k * blocks + column], 0));
        DRIVER(put_product(stream, at(plan->c, row, column), at(plan->a, row, k), at(plan->b, k, column),
                           k == 0));
    }
    DRIVER(driver.record(plan->of_c[number], stream));
    DRIVER(driver.wait_event(out, plan->of_c[number], 0));
    DRIVER(driver.copy_out(block(c, row, column), at(plan->c, row, column), block_bytes(), out));
}

static struct plan plan;

static void by_hand(void)
{
    for (long row = 0; row < blocks; row++)
        for (long column = 0; column < blocks; column++)
            product(&plan, row, column);
    DRIVER(driver.synchronize(out));
}

/* ---- by tasks of functions: the same calls, put in order by their accesses
 * -------------------------------------------------- */

struct step {
    address to, left, right; /* a product's; `to` alone: a copy's */
    double *host;
    long is_first, is_out;
};

static int put_copy(void *stream, const void *args)
{
    const struct step *step = args;
    return step->is_out ? driver.copy_out(step->host, step->to, block_bytes(), stream)
                        : driver.copy_in(step->to, step->host, block_bytes(), stream);
}

static int put_step(void *stream, const void *args)
{
    const struct step *step = args;
    return put_product(stream, step->to, step->left, step->right, step->is_first);
}

static void task(ompx_cuda_function function, struct step step, const ompx_access_t *accesses, int count)
{
    int made = ompx_cuda_task(0, function, &step, sizeof step, accesses, count, NULL);
    MUST(made == 0, "error %d", made);
}

static void copy_task(double *host, address there, int is_out)
{
    ompx_access_t access = {host, is_out ? OMPX_INOUT : OMPX_OUT};
    task(put_copy, (struct step){.to = there, .host = host, .is_out = is_out}, &access, 1);
}

static void by_tasks(void)
{
    for (long row = 0; row < blocks; row++)
        for (long column = 0; column < blocks; column++) {
            double *to = block(c, row, column);
            for (long k = 0; k < blocks; k++) {
                double *left = block(a, row, k), *right = block(b, k, column);
                if (column == 0)
                    copy_task(left, at(plan.a, row, k), 0);
                if (row == 0)
                    copy_task(right, at(plan.b, k, column), 0);
                ompx_access_t accesses[] = {{left, OMPX_IN}, {right, OMPX_IN}, {to, OMPX_INOUT}};
                task(put_step,
                     (struct step){at(plan.c, row, column), at(plan.a, row, k), at(plan.b, k, column), NULL,
                                   k == 0, 0},
                     accesses, 3);
            }
            copy_task(to, at(plan.c, row, column), 1);
        }
#pragma omp taskwait
}

/* ---- by target regions
 * ------------------------------------------------------------------------------------------------------ */

static void enter(double *it)
{
#pragma omp target enter data nowait depend(out : it[0]) map(to : it[0 : elements]) device(0)
}

static void region(double *to, double *left, double *right, long is_first)
{
    long n = size;
#pragma omp target teams distribute parallel for nowait depend(in : left[0], right[0]) depend(inout : to[0]) \
    map(to : left[0 : elements], right[0 : elements]) map(tofrom : to[0 : elements]) \
    firstprivate(n, is_first) device(0)
    for (long place = 0; place < n * n; place++) {
        long row = place / n, column = place % n;
        double sum = is_first ? 0 : to[place];
        for (long k = 0; k < n; k++)
            sum += left[row * n + k] * right[k * n + column];
        to[place] = sum;
    }
}

static void forget(double *matrix)
{
    for (long i = 0; i < blocks * blocks; i++) {
        double *it = matrix + i * elements;
#pragma omp target exit data map(delete : it[0 : elements]) device(0)
    }
}

static void by_regions(void)
{
    for (long row = 0; row < blocks; row++)
        for (long column = 0; column < blocks; column++) {
            double *to = block(c, row, column);
#pragma omp target enter data nowait depend(out : to[0]) map(alloc : to[0 : elements]) device(0)
            for (long k = 0; k < blocks; k++) {
                if (column == 0)
                    enter(block(a, row, k));
                if (row == 0)
                    enter(block(b, k, column));
                region(to, block(a, row, k), block(b, k, column), k == 0);
            }
#pragma omp target exit data nowait depend(inout : to[0]) map(from : to[0 : elements]) device(0)
        }
#pragma omp taskwait
    forget(a);
    forget(b);
}

/* ---- rounds
 * -----------------------------------------------------------------------------------------------------------------
 */

struct way {
    const char *name;
    void (*run)(void);
    int is_raw;
    struct samples seconds, shares;
    struct recorded last;
};
static struct way ways[] = {
    {"by hand: streams and events of the driver", by_hand, 1, {0}, {0}, {0}},
    {"`ompx_cuda_task`, the same calls", by_tasks, 0, {0}, {0}, {0}},
    {"`target nowait depend`", by_regions, 0, {0}, {0}, {0}},
};
enum { WAYS = sizeof ways / sizeof *ways };
static void (*recorder_begin)(void *);
static struct recorded (*recorder_end)(void);

static double drawn(long number, long range)
{
    return (double)((long)((unsigned long)number * 2654435761ul >> 7 & 0xffff) % range - range / 2);
}

/* y = matrix * x */
static double *times(double *matrix, const double *x)
{
    double *y = calloc((size_t)(blocks * size), sizeof *y);
    for (long i = 0; i < blocks * blocks * size; i++) { /* rows of blocks */
        long part = i / size, row = part / blocks * size + i % size;
        const double *of_matrix = matrix + i * size, *of_x = x + part % blocks * size;
        for (long k = 0; k < size; k++)
            y[row] += of_matrix[k] * of_x[k];
    }
    return y;
}

static void check(const char *name, long round)
{
    long n = blocks * size;
    double *x = malloc((size_t)n * sizeof *x);
    for (long i = 0; i < n; i++)
        x[i] = drawn(i + 7919 * round, 5);
    double *right = times(b, x), *wanted = times(a, right), *found = times(c, x);
    for (long row = 0; row < n; row++)
        MUST(found[row] == wanted[row], "%s: row %ld of c times a vector is %g, not %g", name, row,
             found[row], wanted[row]);
    free(x), free(right), free(wanted), free(found);
}

/* Every copy and every kernel has to be known: the share would be one of something else. */
static void check_record(const struct way *way)
{
    const struct recorded *r = &way->last;
    long cubes = blocks * blocks * blocks, all = 3 * blocks * blocks;
    MUST(r->kernels == cubes, "%s: %ld kernels, not %ld", way->name, r->kernels, cubes);
    MUST(r->copies >= all && r->bytes >= (size_t)all * block_bytes(), "%s: %ld copies of %zu bytes",
         way->name, r->copies, r->bytes);
    MUST(!way->is_raw || r->copies == all, "%s: %ld copies, not %ld", way->name, r->copies, all);
    MUST(r->copying > 0 && r->computing > 0 && r->overlapped >= 0 && r->overlapped <= r->copying &&
             r->overlapped <= r->computing,
         "%s: %g ms of copies, %g of kernels, %g of both", way->name, r->copying, r->computing,
         r->overlapped);
}

static double timed(const struct way *way)
{
    double begin = 0, end = 0;
    if (way->is_raw) {
        begin = now(), way->run(), end = now();
        return end - begin;
    }
#pragma omp parallel
#pragma omp single
    begin = now(), way->run(), end = now();
    return end - begin;
}

static void run_once(struct way *way, long round)
{
    for (long i = 0; i < blocks * blocks * elements; i++)
        c[i] = -1;
    if (recorder_begin)
        recorder_begin(in);
    double took = timed(way);
    if (recorder_end) {
        way->last = recorder_end();
        check_record(way);
    }
    check(way->name, round);
    if (round == 0)
        return;
    add_sample(&way->seconds, took);
    if (recorder_end)
        add_sample(&way->shares, way->last.overlapped / way->last.copying);
}

static void print(void)
{
    long n = blocks * size;
    printf("%ld x %ld, blocks of %ld.\n\n", n, n, size);
    printf(
        recorder_end
            ? "| | copying overlapped by kernels: least, median | copying, ms | kernels, ms |\n|---|---:|---:|---:|\n"
            : "| | least, ms | median, ms | to the one by hand: least, median | GFlop/s, least time |\n|---|---:|---:|---:|---:|\n");
    for (int w = 0; w < WAYS; w++) {
        const struct samples *s = &ways[w].seconds, *own = &ways[0].seconds;
        if (recorder_end)
            printf("| %s | %.1f %%, %.1f %% | %.2f | %.2f |\n", ways[w].name, 100 * least(&ways[w].shares),
                   100 * median(&ways[w].shares), ways[w].last.copying, ways[w].last.computing);
        else
            printf("| %s | %.2f | %.2f | %.3f, %.3f | %.1f |\n", ways[w].name, 1e3 * least(s),
                   1e3 * median(s), least(s) / least(own), median(s) / median(own),
                   2e-9 * (double)n * (double)n * (double)n / least(s));
    }
}

/* The arithmetic of overlaps, on intervals whose answer is plain. */
static void check_overlap(void)
{
    struct interval copies[] = {{6, 9}, {0, 2}, {1, 4}}, kernels[] = {{8, 12}, {3, 5}, {4, 7}};
    size_t count = unite(copies, 3), others = unite(kernels, 3);
    MUST(count == 2 && others == 2 && length(copies, 2) == 7 && length(kernels, 2) == 8, "%zu and %zu", count,
         others);
    MUST(in_both(copies, 2, kernels, 2) == 3, "%g", in_both(copies, 2, kernels, 2));
}

static double *pinned(void)
{
    void *made;
    DRIVER(driver.allocate_host(&made, (size_t)(blocks * blocks) * block_bytes(), 0));
    return made;
}

static void **events(void)
{
    void **made = calloc((size_t)(blocks * blocks), sizeof *made);
    for (long i = 0; i < blocks * blocks; i++)
        DRIVER(driver.create_event(&made[i], WITHOUT_TIMES));
    return made;
}

static void prepare(void)
{
    int multiprocessors;
    DRIVER(driver.attribute(&multiprocessors, MULTIPROCESSORS, 0));
    long wanted = (elements + THREADS - 1) / THREADS,
         most = 16L * multiprocessors; /* as the runtime has it for regions */
    teams = (unsigned)(wanted < most ? wanted : most);
    multiply = raw_kernel(&driver, "bench_gemm");
    DRIVER(driver.create_stream(&in, NON_BLOCKING));
    DRIVER(driver.create_stream(&out, NON_BLOCKING));
    for (int s = 0; s < COMPUTE; s++)
        DRIVER(driver.create_stream(&compute[s], NON_BLOCKING));
    a = pinned(), b = pinned(), c = pinned();
    for (long i = 0; i < blocks * blocks * elements; i++)
        a[i] = drawn(i, 5), b[i] = drawn(i + 1000003, 5);
    address *there[] = {&plan.a, &plan.b, &plan.c};
    for (int m = 0; m < 3; m++)
        DRIVER(driver.allocate(there[m], (size_t)(blocks * blocks) * block_bytes()));
    plan.of_a = events(), plan.of_b = events(), plan.of_c = events();
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    int is_small = is_check(argc, argv);
    blocks = option(argc, argv, "--blocks", is_small ? 4 : 8);
    size = option(argc, argv, "--size", is_small ? 24 : 1024);
    long rounds = option(argc, argv, "--rounds", is_small ? 2 : 11);
    MUST(rounds <= MOST_ROUNDS, "at most %d rounds", MOST_ROUNDS);
    elements = size * size;
    check_overlap();
    gpus();
    driver = find_driver();
    use_gpu(&driver);
    *(void **)&recorder_begin = driver_may_have("recorder_begin");
    *(void **)&recorder_end = driver_may_have("recorder_end");
    prepare();
    for (long round = 0; round <= rounds; round++)
        for (int turn = 0; turn < WAYS; turn++)
            run_once(&ways[(turn + round) % WAYS], round);
    print();
    return 0;
}
