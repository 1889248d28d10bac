/* Bodies that attract each other, as in nbody.c, by persistent tasks (docs/persistent.md): the bodies live in
 * trays of tasks, and those of each task visit all others, one after the other. main says who visits whom,
 * and waits once, at the end; which task may go on when follows from that.
 *
 *     bodies [bodies [steps]] */
#include "example.h"
#include <math.h>

enum { TASKS = 8 };

struct body {
    double at[3], mass;
};

struct vector {
    double of[3];
};

/* The trays of a task: its bodies, visitors, what pulls at its bodies, and their velocities. */
enum { BODIES, VISITORS, PULLS, VELOCITIES };

/* Squared distance, not quite 0 for bodies that meet. */
static double apart(const struct body *p, const struct body *q)
{
    double sum = 1e-4;
    for (int d = 0; d < 3; d++)
        sum += (q->at[d] - p->at[d]) * (q->at[d] - p->at[d]);
    return sum;
}

/* The visitors pull at the bodies. */
static void attract(const ompx_run_t *run)
{
    size_t bytes, others;
    const struct body *own = ompx_run_in(run, BODIES, &bytes),
                      *visitors = ompx_run_in(run, VISITORS, &others);
    struct vector *pulls = ompx_run_inout(run, PULLS, NULL);
    for (size_t i = 0; i < bytes / sizeof *own; i++)
        for (size_t j = 0; j < others / sizeof *visitors; j++) {
            double square = apart(&own[i], &visitors[j]), by = visitors[j].mass / (square * sqrt(square));
            for (int d = 0; d < 3; d++)
                pulls[i].of[d] += by * (visitors[j].at[d] - own[i].at[d]);
        }
}

/* All have been here: the bodies move. */
static void move(const ompx_run_t *run, double time)
{
    size_t bytes;
    struct body *own = ompx_run_inout(run, BODIES, &bytes);
    size_t count = bytes / sizeof *own;
    const struct vector *pulls = ompx_run_in(run, PULLS, NULL);
    struct vector *velocity = ompx_run_inout(run, VELOCITIES, NULL);
    for (size_t i = 0; i < count; i++)
        for (int d = 0; d < 3; d++) {
            velocity[i].of[d] += pulls[i].of[d] * time;
            own[i].at[d] += velocity[i].of[d] * time;
        }
    ompx_run_out(run, PULLS, OMPX_ENTITY(sizeof *pulls), count);
}

/* What each task executes: with a length of time it moves its bodies. */
static void step(const ompx_run_t *run, const void *time, size_t bytes)
{
    if (bytes == 0)
        attract(run);
    else
        move(run, *(const double *)time);
}

static double energy(const struct body *all, const struct vector *velocity, long bodies)
{
    double sum = 0;
    for (long i = 0; i < bodies; i++) {
        for (int d = 0; d < 3; d++)
            sum += all[i].mass * velocity[i].of[d] * velocity[i].of[d] / 2;
        for (long j = 0; j < i; j++)
            sum -= all[i].mass * all[j].mass / sqrt(apart(&all[i], &all[j]));
    }
    return sum;
}

int main(int argc, char **argv)
{
    long bodies = argument(argc, argv, 1, 256), steps = argument(argc, argv, 2, 10);
    const double time = 1e-3;
    if (!ompx_ptask_create) {
        printf("bodies: there are no persistent tasks under this OpenMP library\n");
        return 0;
    }
    if (has_nothing_to_begin())
        return 0;
    struct body *all = memory(bodies * sizeof *all);
    struct vector *velocity = memory(bodies * sizeof *velocity);
    for (long i = 0; i < bodies; i++) /* scattered, by the fractions of multiples of roots */
        for (int d = 0; d < 3; d++) {
            all[i].at[d] = fmod((i + 1) * sqrt(d + 2.0 + d / 2), 1);
            all[i].mass = 1.0 / bodies;
            velocity[i].of[d] = 0;
        }
    double before = energy(all, velocity, bodies), begin = omp_get_wtime();

    const ompx_type_t body = OMPX_ENTITY(sizeof *all), vector = OMPX_ENTITY(sizeof *velocity);
    ompx_ptask_t task[TASKS];
    ompx_tray_t tray[4][TASKS];
    ompx_ptask_create(OMPX_ANY_RANK, TASKS, task);
    for (int t = 0; t < TASKS; t++) {
        ompx_ptask_set(task[t], step);
        for (int k = 0; k < 4; k++)
            tray[k][t] = ompx_tray(task[t], k);
    }
    ompx_tray_write(tray[BODIES][0], body, bodies, all);
    ompx_tray_scatter(tray[BODIES][0], tray[BODIES], TASKS);
    ompx_tray_alloc(tray[PULLS][0], vector, bodies);
    ompx_tray_scatter(tray[PULLS][0], tray[VELOCITIES], TASKS);
    ompx_tray_scatter(tray[PULLS][0], tray[PULLS], TASKS);

    for (long s = 0; s < steps; s++) {
        for (int visit = 0; visit < TASKS; visit++) {
            for (int t = 0; t < TASKS; t++)
                ompx_tray_send_recv(tray[BODIES][(t + visit) % TASKS], tray[VISITORS][t]);
            for (int t = 0; t < TASKS; t++)
                ompx_ptask_execute(task[t], NULL, 0);
        }
        for (int t = 0; t < TASKS; t++)
            ompx_ptask_execute(task[t], &time, sizeof time);
    }
    ompx_tray_gather(tray[BODIES], TASKS, tray[BODIES][0]);
    ompx_tray_gather(tray[VELOCITIES], TASKS, tray[VELOCITIES][0]);
    int wrong = ompx_tray_read(tray[BODIES][0], all, bodies * sizeof *all) |
                ompx_tray_read(tray[VELOCITIES][0], velocity, bodies * sizeof *velocity);
    double seconds = omp_get_wtime() - begin, after = energy(all, velocity, bodies);

    int on[TASKS],
        right = !wrong &&
                fabs(after - before) <
                    1e-3 * fabs(before); /* none is made, none is lost, but for the length of the steps */
    for (int t = 0; t < TASKS; t++)
        on[t] = task[t].rank;
    printf("bodies: %ld bodies, %ld steps, energy %.6f, then %.12f, %s\n", bodies, steps, before, after,
           right ? "right" : "WRONG");
    print_tasks_per_rank(on, TASKS, seconds);
    ompx_ptask_free_all();
    free(all);
    free(velocity);
    return !right;
}
