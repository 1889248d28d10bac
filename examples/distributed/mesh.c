/* A mesh that is refined along a front, in patches that are mobile objects: the front moves, and with it the
 * work. The same steps four times, in each round:
 *
 *   stay           patches stay on the ranks where they were made; the threads of a rank share its patches
 *   move           ranks with nothing to do get patches of others
 *   move, tasks    the same, and a patch is refined by tasks, so that one with much work does not keep all
 * others waiting stay, tasks    tasks, but patches stay
 *
 * A step refines each patch, and each then tells its neighbours, wherever they are, how fine it is. It is
 * over when all have heard.
 *
 *     mesh [work of a cell [steps [rounds [nanoseconds]]]]
 *
 * With nanoseconds each unit of work is a nap of so many. Times are the least and the median of the rounds:
 * of the whole; the work done on each rank, for each thread of it, in the time that it takes alone; and of
 * naps the core that had most. */
#include "cores.h"
#include <math.h>
#include <string.h>

#ifndef COLUMNS
#define COLUMNS 8
#endif

enum {
    ROWS = COLUMNS / 2,
    PATCHES = COLUMNS * ROWS,
    CUTS = 4,
    DEEPEST = 5,
    PIECE = 64,
    MOST_RANKS = 64,
    MODES = 4,
    MOST_ROUNDS = 100
};

struct cell {
    double x, y, size, value;
};

struct patch {
    long number, count, heard; /* the last: cells of neighbours, as they have told */
    struct cell *cells;
    ompx_object_t neighbours[4]; /* all zero: none */
};

/* What a patch tells its neighbours. */
struct told {
    ompx_event_t event;
    long fine;
};

/* What a step is told. */
struct step {
    int number, tasks;
    long work, nanoseconds;
    ompx_event_t event; /* on which all neighbours are waited for */
};

/* ---- a patch
 * -----------------------------------------------------------------------------------------------------------
 */

static void *pack(const void *object, size_t *bytes)
{
    const struct patch *patch = object;
    *bytes = sizeof *patch + patch->count * sizeof *patch->cells;
    char *to = memory(*bytes);
    memcpy(to, patch, sizeof *patch);
    memcpy(to + sizeof *patch, patch->cells, patch->count * sizeof *patch->cells);
    return to;
}

static void *unpack(const void *packed, size_t bytes)
{
    struct patch *patch = memory(sizeof *patch);
    memcpy(patch, packed, sizeof *patch);
    patch->cells = memory(bytes - sizeof *patch);
    memcpy(patch->cells, (const char *)packed + sizeof *patch, bytes - sizeof *patch);
    return patch;
}

static void unmake(void *object)
{
    free(((struct patch *)object)->cells);
    free(object);
}

static const ompx_object_type_t patches = {pack, unpack, unmake};

static struct patch *new_patch(long number)
{
    struct patch *patch = memory(sizeof *patch);
    memset(patch, 0, sizeof *patch);
    patch->number = number;
    patch->count = CUTS * CUTS;
    patch->cells = memory(patch->count * sizeof *patch->cells);
    for (int i = 0; i < CUTS * CUTS; i++) {
        double size = 1.0 / CUTS;
        patch->cells[i] = (struct cell){number % COLUMNS + (i % CUTS) * size,
                                        number / COLUMNS + (i / CUTS) * size, size, 0};
    }
    return patch;
}

/* Does the front cross the cell in this step? It is a circle that grows around a corner. */
static int is_crossed(const struct cell *cell, int step)
{
    double radius = (1.5 + 0.5 * step) * COLUMNS / 8, far_x = cell->x + cell->size,
           far_y = cell->y + cell->size;
    return cell->x * cell->x + cell->y * cell->y < radius * radius &&
           far_x * far_x + far_y * far_y > radius * radius;
}

/* Cuts what the front crosses into four. */
static void cut(struct patch *patch, int step)
{
    struct cell *old = patch->cells;
    struct cell *to = memory(4 * patch->count * sizeof *to);
    long count = 0;
    for (long i = 0; i < patch->count; i++) {
        struct cell cell = old[i];
        if (cell.size <= 1.5 / (CUTS << DEEPEST) || !is_crossed(&cell, step)) {
            to[count++] = cell;
            continue;
        }
        cell.size /= 2;
        for (int quarter = 0; quarter < 4; quarter++)
            to[count++] = (struct cell){cell.x + quarter % 2 * cell.size, cell.y + quarter / 2 * cell.size,
                                        cell.size, cell.value};
    }
    free(old);
    patch->cells = to;
    patch->count = count;
}

/* Improves a cell: more work for those that the front crosses. How much. */
static long improve_cell(struct cell *cell, const struct step *step)
{
    double z = cell->value, c = (cell->x + cell->y) / (2 * COLUMNS) - 0.5;
    long times = is_crossed(cell, step->number) ? 10 * step->work : step->work;
    for (long t = 0; t < times; t++)
        z = 0.5 * z * z + c;
    cell->value = z;
    return times;
}

static void improve(struct cell *cells, long count, const struct step *step)
{
    long times = 0;
    for (long i = 0; i < count; i++)
        times += improve_cell(&cells[i], step);
    count_units(times);
    if (step->nanoseconds)
        nap_on_a_core(1e-9 * (double)(times * step->nanoseconds));
}

/* One step of a patch. With tasks, these are the rank's like any. */
static void refine(struct patch *patch, const struct step *step)
{
    for (int i = 0; i < DEEPEST; i++)
        cut(patch, step->number);
    long count = patch->count;
    struct cell *cells = patch->cells;
    if (!step->tasks) {
        improve(cells, count, step);
        return;
    }
    for (long first = 0; first < count; first += PIECE) {
#pragma omp task firstprivate(first) shared(cells, count, step)
        improve(cells + first, first + PIECE < count ? PIECE : count - first, step);
    }
#pragma omp taskwait
}

/* What a patch has come to: whole numbers, so that sums are the same in any order. */
static uint64_t sum_of(const struct patch *patch)
{
    uint64_t sum = 1000003u * (uint64_t)patch->heard;
    for (long i = 0; i < patch->count; i++)
        sum += (uint64_t)(int64_t)(patch->cells[i].value * 1e6) + 1;
    return sum;
}

/* ---- handlers
 * ----------------------------------------------------------------------------------------------------------
 */

static void hear(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    const struct told *told = args;
    (void)self, (void)bytes, (void)result;
    ((struct patch *)data)->heard += told->fine;
    ompx_event_satisfy(told->event, OMPX_ANY_SLOT, NULL, 0);
}

static void on_step(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct patch *patch = data;
    const struct step *step = args;
    struct told tell = {step->event, 0};
    (void)self, (void)bytes, (void)result;
    refine(patch, step);
    tell.fine = patch->count;
    for (int i = 0; i < 4; i++)
        if (patch->neighbours[i].generation)
            ompx_object_invoke(patch->neighbours[i], OMPX_WRITE, hear, &tell, sizeof tell, NULL);
}

static void on_meet(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    (void)self, (void)result;
    memcpy(((struct patch *)data)->neighbours, args, bytes);
}

static void on_sum(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    uint64_t sums[2] = {sum_of(data), (uint64_t)((struct patch *)data)->count};
    (void)self, (void)args, (void)bytes;
    ompx_result_set(result, sums, sizeof sums);
}

static void all_have_heard(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)bytes, (void)parts, (void)count;
    ompx_future_set(*(const ompx_future_t *)data, NULL, 0);
}

/* ---- on ranks
 * ----------------------------------------------------------------------------------------------------------
 */

/* Makes a patch where it is called. */
static void make(const void *args, size_t bytes, ompx_result_t *result)
{
    ompx_object_t object;
    (void)bytes;
    if (ompx_object_create_typed(&patches, new_patch(*(const int *)args), &object))
        exit(1);
    ompx_result_set(result, &object, sizeof object);
}

/* Begins a mode: returns what was done in the one before. */
static void begin_mode(const void *args, size_t bytes, ompx_result_t *result)
{
    (void)bytes;
    ompx_result_set(result, &cores, sizeof cores);
    begin_cores();
    ompx_set_balance(args);
}

static void get(ompx_future_t future, void *into, size_t bytes)
{
    if (ompx_future_get(future, into, bytes) || ompx_future_free(future))
        exit(1);
}

static void everywhere(const char *balance, struct cores *done_there)
{
    ompx_future_t done[MOST_RANKS];
    for (int r = 0; r < ompx_cluster_size(); r++)
        ompx_invoke(r, begin_mode, balance, strlen(balance) + 1, &done[r]);
    for (int r = 0; r < ompx_cluster_size(); r++)
        get(done[r], &done_there[r], sizeof done_there[r]);
}

/* All patches, dealt out in rows, and who is beside whom. How many neighbours there are. */
static int make_all(ompx_object_t *objects)
{
    ompx_future_t made[PATCHES];
    int ranks = ompx_cluster_size(), pairs = 0;
    for (int p = 0; p < PATCHES; p++)
        ompx_invoke(p * ranks / PATCHES, make, &p, sizeof p, &made[p]);
    for (int p = 0; p < PATCHES; p++)
        get(made[p], &objects[p], sizeof objects[p]);
    for (int p = 0; p < PATCHES; p++) {
        ompx_object_t beside[4];
        int count = 0;
        memset(beside, 0, sizeof beside);
        if (p % COLUMNS > 0)
            beside[count++] = objects[p - 1];
        if (p % COLUMNS < COLUMNS - 1)
            beside[count++] = objects[p + 1];
        if (p >= COLUMNS)
            beside[count++] = objects[p - COLUMNS];
        if (p < PATCHES - COLUMNS)
            beside[count++] = objects[p + COLUMNS];
        pairs += count;
        ompx_object_invoke(objects[p], OMPX_WRITE, on_meet, beside, sizeof beside, &made[p]);
    }
    for (int p = 0; p < PATCHES; p++)
        get(made[p], NULL, 0);
    return pairs;
}

/* All steps, with patches that are objects: the sum, and how many cells there are. */
static void run(const struct step *like, int steps, uint64_t *sums)
{
    ompx_object_t objects[PATCHES];
    ompx_future_t asked[PATCHES];
    int pairs = make_all(objects);
    sums[0] = sums[1] = 0;
    for (int s = 0; s < steps; s++) {
        struct step step = *like;
        ompx_future_t over;
        step.number = s;
        if (ompx_future_create(&over) ||
            ompx_event_create(pairs, all_have_heard, &over, sizeof over, &step.event))
            exit(1);
        for (int p = 0; p < PATCHES; p++)
            ompx_object_invoke(objects[p], OMPX_WRITE, on_step, &step, sizeof step, NULL);
        get(over, NULL, 0);
    }
    for (int p = 0; p < PATCHES; p++)
        ompx_object_invoke(objects[p], OMPX_READ, on_sum, NULL, 0, &asked[p]);
    for (int p = 0; p < PATCHES; p++) {
        uint64_t its[2];
        get(asked[p], its, sizeof its);
        sums[0] += its[0];
        sums[1] += its[1];
        ompx_object_free(objects[p]);
    }
}

/* The same in a row, without objects: what must come out. */
static void run_alone(long work, int steps, uint64_t *sums)
{
    struct patch *all[PATCHES];
    sums[0] = sums[1] = 0;
    begin_cores();
    for (int p = 0; p < PATCHES; p++)
        all[p] = new_patch(p);
    for (int s = 0; s < steps; s++) {
        struct step step = {s, 0, work, 0, {0, 0, 0}};
        for (int p = 0; p < PATCHES; p++)
            refine(all[p], &step);
        for (int p = 0; p < PATCHES; p++) {
            all[p]->heard += p % COLUMNS > 0 ? all[p - 1]->count : 0;
            all[p]->heard += p % COLUMNS < COLUMNS - 1 ? all[p + 1]->count : 0;
            all[p]->heard += p >= COLUMNS ? all[p - COLUMNS]->count : 0;
            all[p]->heard += p < PATCHES - COLUMNS ? all[p + COLUMNS]->count : 0;
        }
    }
    for (int p = 0; p < PATCHES; p++) {
        sums[0] += sum_of(all[p]);
        sums[1] += (uint64_t)all[p]->count;
        unmake(all[p]);
    }
}

/* ---- times
 * -------------------------------------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *balance;
    int tasks;
} modes[MODES] = {
    {"stay", "off", 0}, {"move", "half", 0}, {"move, tasks", "half", 1}, {"stay, tasks", "off", 1}};

/* Seconds of each round: of the whole, of the core with most to do, and of a core of each rank. */
enum { WHOLE, MOST, OF_RANKS };
static double times[MODES][OF_RANKS + MOST_RANKS][MOST_ROUNDS];

/* A unit, without naps: as one process has done it alone. */
static double seconds_of_unit;

/* One mode of a round. Is its answer that of one process? */
static int run_mode(int mode, int round, struct step step, int steps, const uint64_t *wanted)
{
    struct cores done[MOST_RANKS];
    uint64_t sums[2];
    everywhere(modes[mode].balance, done);
    step.tasks = modes[mode].tasks;
    double begin = omp_get_wtime();
    run(&step, steps, sums);
    times[mode][WHOLE][round] = omp_get_wtime() - begin;
    everywhere("off", done);
    for (int r = 0; r < ompx_cluster_size(); r++) {
        double naps = mean_of(&done[r], &times[mode][MOST][round]);
        times[mode][OF_RANKS + r][round] =
            step.nanoseconds ? naps : seconds_of_unit * (double)done[r].units / done[r].count;
    }
    return memcmp(sums, wanted, sizeof sums) == 0;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(int rounds, int has_naps)
{
    for (int row = 0; row < OF_RANKS + ompx_cluster_size(); row++)
        for (int m = 0; m < MODES && (row != MOST || has_naps); m++) {
            double *t = times[m][row];
            char what[32];
            snprintf(what, sizeof what,
                     row == WHOLE  ? "all"
                     : row == MOST ? "core with most"
                                   : "a core of rank %d",
                     row - OF_RANKS);
            qsort(t, (size_t)rounds, sizeof *t, by_value);
            printf("  %-12s %-18s %8.2f ms %8.2f ms\n", modes[m].name, what, t[0] * 1e3, t[rounds / 2] * 1e3);
        }
}

int main(int argc, char **argv)
{
    struct step step = {0, 0, argument(argc, argv, 1, 20), argument(argc, argv, 4, 0), {0, 0, 0}};
    long steps = argument(argc, argv, 2, 12), rounds = argument(argc, argv, 3, 1);
    uint64_t wanted[2];
    int right = 1, has_objects = ompx_object_create_typed && ompx_cluster_size() <= MOST_RANKS;
    if (has_nothing_to_begin())
        return 0;
    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "wants 1 to %d rounds\n", MOST_ROUNDS);
        return 2;
    }
    double begin = omp_get_wtime();
    run_alone(step.work, (int)steps, wanted);
    seconds_of_unit = (omp_get_wtime() - begin) / (double)cores.units;
    for (int r = 0; r < rounds && has_objects; r++)
        for (int m = 0; m < MODES; m++)
            right &= run_mode(m, r, step, (int)steps, wanted);
    printf("mesh: %d patches, %ld steps, %lu cells, sum %lu, %s\n", PATCHES, steps, (unsigned long)wanted[1],
           (unsigned long)wanted[0], right ? "right" : "WRONG");
    if (has_objects)
        print_times((int)rounds, step.nanoseconds > 0);
    return !right;
}
