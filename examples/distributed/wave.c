/* A wave in a box, in slabs that are mobile objects. Slabs send each other their edges and go on as soon as
 * both have come: there is no barrier, and nobody waits. The same problem is computed with several numbers of
 * slabs per rank and of tasks per handler; times are those of a step, the least and the median of some
 * rounds.
 *
 *     wave [steps [rounds]] */
#include "example.h"
#include <math.h>
#include <string.h>

#ifndef SIDE
#define SIDE 48
#endif

enum { PLANE = SIDE * SIDE, MOST_RANKS = 64, MOST_ROUNDS = 100 };

/* Slabs per rank, and tasks per handler. */
static const int choices[] = {1, 2, 4, 8};
enum { SOME = sizeof choices / sizeof *choices, CHOICES = SOME * SOME };

/* The edge of a neighbour, before a step. */
struct edge {
    int step, is_above;
    double plane[PLANE];
};

struct slab {
    int first, planes; /* which planes of the box */
    int step, steps, tasks, wanted, has_begun;
    int present[2]; /* edges that have come for even and odd steps: a neighbour is one step ahead at most */
    ompx_object_t below, above; /* all zero: the wall */
    ompx_event_t event;
    double edges[2][2][PLANE];
    double planes_of[]; /* twice planes + 2: now and before, in turn */
};

static size_t size_of(int planes)
{
    return sizeof(struct slab) + 2 * (size_t)(planes + 2) * PLANE * sizeof(double);
}

/* The planes in this step (0), or before and after it (1). The first and the last are the neighbours'. */
static double *planes_at(struct slab *slab, int which)
{
    return slab->planes_of + (size_t)((slab->step + which) % 2) * (slab->planes + 2) * PLANE;
}

static void set_up(struct slab *slab, int first, int planes)
{
    slab->first = first;
    slab->planes = planes;
    for (int z = 1; z <= planes; z++)
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++) {
                double dx = x - SIDE / 3, dy = y - SIDE / 2, dz = z + first - SIDE / 2,
                       u = 10 * exp(-0.05 * (dx * dx + dy * dy + dz * dz));
                planes_at(slab, 0)[z * PLANE + y * SIDE + x] = planes_at(slab, 1)[z * PLANE + y * SIDE + x] =
                    u;
            }
}

/* A step for some planes. The walls stay. */
static void swing(double *to, const double *from, int begin, int end)
{
    for (int z = begin; z < end; z++)
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++) {
                long at = (long)z * PLANE + y * SIDE + x;
                double around = from[at - 1] + from[at + 1] + from[at - SIDE] + from[at + SIDE] +
                                from[at - PLANE] + from[at + PLANE];
                to[at] = 2 * from[at] - to[at] + 0.1 * (around - 6 * from[at]);
            }
}

/* A step, by tasks if there are to be some. */
static void advance(struct slab *slab)
{
    double *from = planes_at(slab, 0), *to = planes_at(slab, 1);
    int tasks = slab->tasks, planes = slab->planes;
    if (tasks <= 1) {
        swing(to, from, 1, planes + 1);
    } else {
        for (int t = 0; t < tasks; t++) {
#pragma omp task firstprivate(t)
            swing(to, from, 1 + planes * t / tasks, 1 + planes * (t + 1) / tasks);
        }
#pragma omp taskwait
    }
    slab->step++;
}

/* In whole numbers, so that sums are the same in any order. */
static int64_t sum_of(struct slab *slab)
{
    int64_t sum = 0;
    for (long at = PLANE; at < (long)(slab->planes + 1) * PLANE; at++)
        sum += (int64_t)(planes_at(slab, 0)[at] * 1e6) * (1 + at % PLANE % 7);
    return sum;
}

/* ---- handlers
 * ----------------------------------------------------------------------------------------------------------
 */

static void on_edge(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result);

static void send(ompx_object_t to, int step, int is_above, const double *plane)
{
    struct edge edge = {step, is_above, {0}};
    if (!to.generation)
        return;
    memcpy(edge.plane, plane, sizeof edge.plane);
    ompx_object_invoke(to, OMPX_WRITE, on_edge, &edge, sizeof edge, NULL);
}

/* Steps for which all has come. */
static void go_on(struct slab *slab)
{
    for (;;) {
        int turn = slab->step % 2;
        if (slab->step == slab->steps) {
            ompx_event_satisfy(slab->event, OMPX_ANY_SLOT, NULL, 0);
            return;
        }
        if (slab->present[turn] != slab->wanted)
            return;
        memcpy(planes_at(slab, 0), slab->edges[turn][0], sizeof slab->edges[turn][0]);
        memcpy(planes_at(slab, 0) + (slab->planes + 1) * PLANE, slab->edges[turn][1],
               sizeof slab->edges[turn][1]);
        slab->present[turn] = 0;
        advance(slab);
        if (slab->step < slab->steps) {
            send(slab->below, slab->step, 1, planes_at(slab, 0) + PLANE);
            send(slab->above, slab->step, 0, planes_at(slab, 0) + slab->planes * PLANE);
        }
    }
}

static void on_edge(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct slab *slab = data;
    const struct edge *edge = args;
    (void)self, (void)bytes, (void)result;
    memcpy(slab->edges[edge->step % 2][edge->is_above], edge->plane, sizeof edge->plane);
    slab->present[edge->step % 2]++;
    if (slab->has_begun) /* a neighbour may begin before */
        go_on(slab);
}

/* What a slab is told at the beginning. */
struct begin {
    ompx_object_t below, above;
    ompx_event_t event;
    int steps, tasks;
};

static void on_begin(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    struct slab *slab = data;
    const struct begin *begin = args;
    (void)self, (void)bytes, (void)result;
    slab->below = begin->below;
    slab->above = begin->above;
    slab->event = begin->event;
    slab->steps = begin->steps;
    slab->tasks = begin->tasks;
    slab->wanted = (slab->below.generation != 0) + (slab->above.generation != 0);
    send(slab->below, 0, 1, planes_at(slab, 0) + PLANE);
    send(slab->above, 0, 0, planes_at(slab, 0) + slab->planes * PLANE);
    slab->has_begun = 1;
    go_on(slab);
}

static void on_sum(ompx_object_t self, void *data, const void *args, size_t bytes, ompx_result_t *result)
{
    int64_t sum = sum_of(data);
    (void)self, (void)args, (void)bytes;
    ompx_result_set(result, &sum, sizeof sum);
}

static void all_are_through(const void *data, size_t bytes, const ompx_part_t *parts, size_t count)
{
    (void)bytes, (void)parts, (void)count;
    ompx_future_set(*(const ompx_future_t *)data, NULL, 0);
}

/* Makes a slab where it is called: of which planes, and how many. */
static void make(const void *args, size_t bytes, ompx_result_t *result)
{
    const int *which = args;
    ompx_object_t object;
    struct slab *slab = memory(size_of(which[1]));
    (void)bytes;
    memset(slab, 0, size_of(which[1]));
    set_up(slab, which[0], which[1]);
    if (ompx_object_create(slab, size_of(which[1]), &object))
        exit(1);
    free(slab);
    ompx_result_set(result, &object, sizeof object);
}

/* ----------------------------------------------------------------------------------------------------------------------
 */

static void get(ompx_future_t future, void *into, size_t bytes)
{
    if (ompx_future_get(future, into, bytes) || ompx_future_free(future))
        exit(1);
}

/* All steps, with so many slabs per rank and tasks per handler: the sum, and seconds. */
static int64_t run(int per_rank, int tasks, int steps, double *seconds)
{
    int ranks = ompx_cluster_size(), slabs = ranks * per_rank;
    ompx_object_t objects[SIDE], none = {0, 0, 0};
    ompx_future_t made[SIDE], over;
    int64_t sum = 0;
    if (slabs > SIDE)
        slabs = SIDE;
    for (int s = 0; s < slabs; s++) {
        int which[2] = {SIDE * s / slabs, SIDE * (s + 1) / slabs - SIDE * s / slabs};
        ompx_invoke(s * ranks / slabs, make, which, sizeof which, &made[s]);
    }
    for (int s = 0; s < slabs; s++)
        get(made[s], &objects[s], sizeof objects[s]);
    struct begin begin = {none, none, {0, 0, 0}, steps, tasks};
    if (ompx_future_create(&over) ||
        ompx_event_create(slabs, all_are_through, &over, sizeof over, &begin.event))
        exit(1);
    double time = omp_get_wtime();
    for (int s = 0; s < slabs; s++) {
        begin.below = s > 0 ? objects[s - 1] : none;
        begin.above = s < slabs - 1 ? objects[s + 1] : none;
        ompx_object_invoke(objects[s], OMPX_WRITE, on_begin, &begin, sizeof begin, NULL);
    }
    get(over, NULL, 0);
    *seconds = omp_get_wtime() - time;
    for (int s = 0; s < slabs; s++)
        ompx_object_invoke(objects[s], OMPX_READ, on_sum, NULL, 0, &made[s]);
    for (int s = 0; s < slabs; s++) {
        int64_t its;
        get(made[s], &its, sizeof its);
        sum += its;
        ompx_object_free(objects[s]);
    }
    return sum;
}

/* The whole box as one slab, without objects: what must come out. */
static int64_t run_alone(int steps)
{
    struct slab *box = memory(size_of(SIDE));
    memset(box, 0, size_of(SIDE));
    set_up(box, 0, SIDE);
    for (int s = 0; s < steps; s++)
        advance(box);
    int64_t sum = sum_of(box);
    free(box);
    return sum;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_times(double (*seconds)[MOST_ROUNDS], int rounds, int steps)
{
    for (int c = 0; c < CHOICES; c++) {
        double *t = seconds[c], us = 1e6 / steps;
        qsort(t, (size_t)rounds, sizeof *t, by_value);
        printf("  %d slabs per rank, %d tasks per handler %10.2f us %10.2f us\n", choices[c / SOME],
               choices[c % SOME], t[0] * us, t[rounds / 2] * us);
    }
}

int main(int argc, char **argv)
{
    static double seconds[CHOICES][MOST_ROUNDS];
    int steps = (int)argument(argc, argv, 1, 20), rounds = (int)argument(argc, argv, 2, 1), right = 1;
    if (has_nothing_to_begin())
        return 0;
    if (steps < 1 || rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "wants steps, and 1 to %d rounds\n", MOST_ROUNDS);
        return 2;
    }
    int64_t wanted = run_alone(steps);
    int has_objects = ompx_object_create && ompx_cluster_size() <= MOST_RANKS;
    for (int r = 0; r < rounds && has_objects; r++)
        for (int c = 0; c < CHOICES; c++)
            right &= run(choices[c / SOME], choices[c % SOME], steps, &seconds[c][r]) == wanted;
    printf("wave: %d x %d x %d points, %d steps, sum %lld, %s\n", SIDE, SIDE, SIDE, steps, (long long)wanted,
           right ? "right" : "WRONG");
    if (has_objects)
        print_times(seconds, rounds, steps);
    return !right;
}
