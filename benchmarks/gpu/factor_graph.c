/* The tasks of a factorization, after SLATE's: a panel, then an update of each block column behind it, as
 * regions of one chain per block column. What looks ahead is `depend`: the next panel begins when its own
 * block column is updated, and may be as far ahead of the last update as there are slots.
 *
 * A panel is a task of the host with a parallel region in it, whose threads wait for each other many times:
 * under a runtime that does not run them all at once each of them keeps the others waiting. */
#include "factor.h"

#pragma weak ompx_array_create
#pragma weak ompx_array_destroy
#pragma weak ompx_array_host
#pragma weak ompx_device_any_gpu

struct matrix matrix;
static const struct routine *routine;
static enum way way;
static int gpu_count, depth;
static struct slot slots[MOST_DEPTH];
static char there[MOST_DEPTH][MOST_GPUS]; /* stand for a slot's copy on a GPU */
static struct work *works;
static struct team team;

/* ---- waiting in a panel
 * ---------------------------------------------------------------------------------------------------- */

/* Pairs: the last one's store of the generation with the others' loads; all arrivals with the last one's. */
static void spin(void)
{
    int mine = __atomic_load_n(&team.generation,
                               __ATOMIC_RELAXED); /* it cannot move before this thread has arrived */
    if (__atomic_add_fetch(&team.arrived, 1, __ATOMIC_ACQ_REL) == team.size) {
        __atomic_store_n(&team.arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&team.generation, mine + 1, __ATOMIC_RELEASE);
        return;
    }
    while (__atomic_load_n(&team.generation, __ATOMIC_ACQUIRE) == mine)
        ;
}

void meet(struct team *of)
{
    if (of->size == 1)
        return;
    if (of->spins)
        return spin();
#pragma omp barrier
}

/* ---- storage
 * ---------------------------------------------------------------------------------------------------------------
 */

static void *storage(size_t bytes)
{
    void *made = way == BY_ARRAYS ? ompx_array_create(NULL, bytes, 0) : calloc(1, bytes);
    MUST(made, "no memory for %zu MB on the host", bytes / 1000000);
    return made;
}

static void release(void *made)
{
    if (way == BY_ARRAYS)
        MUST(ompx_array_destroy(made) == 0, "the array is in use");
    else
        free(made);
}

static double *numbers(long count)
{
    return storage((size_t)count * sizeof(double));
}

static int owner(long j)
{
    return (int)(j % gpu_count);
}

/* What is on the GPUs all the time, by the way of updates. */
static void enter_slot(const struct slot *slot, int device)
{
    double *v = slot->v, *small = slot->small;
    long *origin = slot->origin, n = matrix.n, nb = matrix.nb;
#pragma omp target enter data map(alloc : v[0 : n * nb], small[0 : nb * nb], origin[0 : n]) device(device)
}

static void exit_slot(const struct slot *slot, int device)
{
    double *v = slot->v, *small = slot->small;
    long *origin = slot->origin, n = matrix.n, nb = matrix.nb;
#pragma omp target exit data map(delete : v[0 : n * nb], small[0 : nb * nb], origin[0 : n]) device(device)
}

static void enter_column(long j)
{
    double *c = matrix.column[j], *w = works[j].w, *part = works[j].part;
    long n = matrix.n, nb = matrix.nb;
#pragma omp target enter data map(alloc : c[0 : n * nb], w[0 : 2 * nb * nb], part[0 : SLICES * nb * nb]) \
    device(owner(j))
}

static void exit_column(long j)
{
    double *c = matrix.column[j], *w = works[j].w, *part = works[j].part;
    long n = matrix.n, nb = matrix.nb;
#pragma omp target exit data map(delete : c[0 : n * nb], w[0 : 2 * nb * nb], part[0 : SLICES * nb * nb]) \
    device(owner(j))
}

static void on_all_gpus(void (*slot_too)(const struct slot *, int), void (*column_too)(long))
{
    if (way != BY_UPDATE)
        return;
    for (int s = 0; s < depth; s++)
        for (int d = 0; d < gpu_count; d++)
            slot_too(&slots[s], d);
    for (long j = 0; j < matrix.count; j++)
        column_too(j);
}

void graph_prepare(const struct routine *of, enum way by, long n, long nb, int slot_count)
{
    routine = of, way = by, depth = slot_count, gpu_count = omp_get_num_devices();
    MUST(way == BY_UPDATE || ompx_array_create, "coherent arrays are libgangway's");
    MUST(gpu_count > 0 && gpu_count <= MOST_GPUS, "%d GPUs", gpu_count);
    MUST(n % nb == 0 && nb % GROUP == 0,
         "%ld rows, blocks of %ld: these have to be a multiple of %d, those of them", n, nb, GROUP);
    matrix = (struct matrix){n,
                             nb,
                             n / nb,
                             calloc((size_t)(n / nb), sizeof(double *)),
                             of->element,
                             calloc((size_t)n, sizeof(long)),
                             calloc((size_t)n, sizeof(double))};
    works = calloc((size_t)matrix.count, sizeof *works);
    MUST(matrix.column && matrix.pivot && matrix.tau && works, "no memory");
    for (long j = 0; j < matrix.count; j++)
        matrix.column[j] = numbers(n * nb),
        works[j] = (struct work){numbers(2 * nb * nb), numbers(SLICES * nb * nb)};
    for (int s = 0; s < depth; s++)
        slots[s] = (struct slot){numbers(n * nb), numbers(nb * nb), storage((size_t)n * sizeof(long))};
    on_all_gpus(enter_slot, enter_column);
}

void graph_release(void)
{
    on_all_gpus(exit_slot, exit_column);
    for (long j = 0; j < matrix.count; j++)
        release(matrix.column[j]), release(works[j].w), release(works[j].part);
    for (int s = 0; s < depth; s++)
        release(slots[s].v), release(slots[s].small), release(slots[s].origin);
    free(matrix.column), free(matrix.pivot), free(matrix.tau), free(works);
}

/* ---- copies
 * ----------------------------------------------------------------------------------------------------------------
 */

static void bring(long j)
{
    double *c = matrix.column[j];
    long elements = matrix.n * matrix.nb;
#pragma omp target update to(c[0 : elements]) nowait depend(inout : c[0]) device(owner(j))
}

static void fetch(long j)
{
    double *c = matrix.column[j];
    long elements = matrix.n * matrix.nb;
#pragma omp target update from(c[0 : elements]) nowait depend(inout : c[0]) device(owner(j))
}

static void send(const struct step *step, int s)
{
    double *v = step->slot->v, *small = step->slot->small;
    long *origin = step->slot->origin, m = step->rows, nb = matrix.nb;
    char *copy = &there[s][step->device];
#pragma omp target update to(v[0 : m * nb], small[0 : nb * nb], origin[0 : m]) nowait depend(in : v[0]) \
    depend(out : copy[0]) device(step -> device)
}

/* By the way of arrays: in the task of a panel, what it uses. */
static void host_has(double *c, const struct slot *slot)
{
    size_t n = (size_t)matrix.n, nb = (size_t)matrix.nb;
    int problem = ompx_array_host(c, n * nb * sizeof *c, OMPX_INOUT) |
                  ompx_array_host(slot->v, n * nb * sizeof *c, OMPX_OUT);
    problem |= ompx_array_host(slot->small, nb * nb * sizeof *c, OMPX_OUT) |
               ompx_array_host(slot->origin, n * sizeof(long), OMPX_OUT);
    MUST(problem == 0, "%d", problem);
}

/* ---- the graph
 * -------------------------------------------------------------------------------------------------------------
 */

static void factor_panel(double *c, long first, const struct slot *slot, int threads)
{
    double *rows = c + first * matrix.nb;
    long m = matrix.n - first;
#pragma omp parallel num_threads(threads)
    {
        int rank = omp_get_thread_num();
#pragma omp single
        team.size = omp_get_num_threads();
        routine->panel(&team, rank, rows, m, first);
        meet(&team);
        routine->publish(&team, rank, rows, m, first, slot);
    }
    MUST(team.size == threads, "%d threads, not %d", team.size, threads);
}

static void panel_task(long k, const struct slot *slot, int threads)
{
    double *c = matrix.column[k], *v = slot->v;
#pragma omp task depend(inout : c[0]) depend(out : v[0]) priority(1) firstprivate(k, slot, threads)
    {
        if (way == BY_ARRAYS)
            host_has(c, slot);
        factor_panel(c, k * matrix.nb, slot, threads);
    }
}

static void update_task(struct step step, int s, long j)
{
    step.device = way == BY_ARRAYS ? ompx_device_any_gpu() : owner(j);
    step.there = way == BY_ARRAYS ? (const char *)step.slot->v : &there[s][step.device];
    routine->update(&step, j, &works[j]);
}

static void create_step(long k, int threads)
{
    int s = (int)(k % depth);
    struct step step = {k * matrix.nb, matrix.n - k * matrix.nb, &slots[s], NULL, 0};
    if (way == BY_UPDATE && k > 0)
        fetch(k);
    panel_task(k, &slots[s], threads);
    if (way == BY_UPDATE && k + 1 < matrix.count)
        for (step.device = 0; step.device < gpu_count; step.device++)
            send(&step, s);
    for (long j = k + 1; j < matrix.count; j++)
        update_task(step, s, j);
}

static void fill(void)
{
    long nb = matrix.nb;
#pragma omp parallel for schedule(dynamic)
    for (long j = 0; j < matrix.count; j++) {
        double *c = matrix.column[j];
        if (way == BY_ARRAYS)
            MUST(ompx_array_host(c, (size_t)(matrix.n * nb) * sizeof *c, OMPX_OUT) == 0,
                 "no block column %ld", j);
        for (long at = 0; at < matrix.n * nb; at++)
            c[at] = matrix.element(at / nb, j * nb + at % nb);
    }
}

double graph_run(const struct routine *of, int panel_threads, int spins)
{
    MUST(of == routine && panel_threads <= MOST_TEAM, "%d threads", panel_threads);
    team.spins = spins;
    for (int t = 0; t < panel_threads; t++)
        MUST(team.sums[t] = malloc((size_t)matrix.nb * sizeof(double)), "no memory");
    fill();
    double begin = 0, end = 0;
#pragma omp parallel
#pragma omp single
    {
        begin = now();
        for (long j = 1; way == BY_UPDATE && j < matrix.count; j++) /* the first one is a panel at once */
            bring(j);
        for (long k = 0; k < matrix.count; k++)
            create_step(k, panel_threads);
#pragma omp taskwait
    }
    if (routine->finish)
        routine->finish();
    end = now();
    for (int t = 0; t < panel_threads; t++)
        free(team.sums[t]);
    return end - begin;
}

/* ---- what QR's and Cholesky's updates share
 * --------------------------------------------------------------------------------- */

void subtract_product(const struct step *step, double *c, double *w, long from)
{
    double *v = step->slot->v;
    long n = matrix.n, nb = matrix.nb, first = step->first, m = step->rows;
    const char *copy = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : copy[0], w[0]) depend(inout : c[0]) \
    map(to : v[0 : m * nb], w[0 : 2 * nb * nb]) map(tofrom : c[0 : n * nb]) firstprivate(nb, first, m, from) \
    device(step -> device)
    for (long at = 0; at < (m - from) / GROUP * nb; at++) {
        long row = from + at / nb * GROUP, column = at % nb;
        double *to = c + (first + row) * nb + column, sum[GROUP];
        for (int g = 0; g < GROUP; g++)
            sum[g] = to[g * nb];
        take_products(sum, v + row * nb, w + column, nb);
        for (int g = 0; g < GROUP; g++)
            to[g * nb] = sum[g];
    }
}
