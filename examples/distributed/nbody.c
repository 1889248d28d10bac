/* Bodies that attract each other. A task for each block of bodies and each step: it gets the places of all
 * bodies and moves its own.
 *
 *     nbody [bodies [steps]] */
#include "example.h"
#include <math.h>

enum { BLOCKS = 8 };

struct body {
    double at[3], mass;
};

/* Squared distance, not quite 0 for bodies that meet. */
static double apart(const struct body *p, const struct body *q)
{
    double sum = 1e-4;
    for (int d = 0; d < 3; d++)
        sum += (q->at[d] - p->at[d]) * (q->at[d] - p->at[d]);
    return sum;
}

/* One step for `count` bodies: what all others do to their velocities, and where they are then. */
static void move(struct body *to, double (*velocity)[3], const struct body *all, long bodies, long first,
                 long count, double time)
{
    for (long i = 0; i < count; i++) {
        const struct body *p = &all[first + i];
        double pull[3] = {0, 0, 0};
        for (long j = 0; j < bodies; j++) {
            double square = apart(p, &all[j]), by = all[j].mass / (square * sqrt(square));
            for (int d = 0; d < 3; d++)
                pull[d] += by * (all[j].at[d] - p->at[d]);
        }
        to[i] = *p;
        for (int d = 0; d < 3; d++) {
            velocity[i][d] += pull[d] * time;
            to[i].at[d] += velocity[i][d] * time;
        }
    }
}

static double energy(const struct body *all, double (*velocity)[3], long bodies)
{
    double sum = 0;
    for (long i = 0; i < bodies; i++) {
        for (int d = 0; d < 3; d++)
            sum += all[i].mass * velocity[i][d] * velocity[i][d] / 2;
        for (long j = 0; j < i; j++)
            sum -= all[i].mass * all[j].mass / sqrt(apart(&all[i], &all[j]));
    }
    return sum;
}

int main(int argc, char **argv)
{
    long count = argument(argc, argv, 1, 256) / BLOCKS, steps = argument(argc, argv, 2, 10),
         bodies = count * BLOCKS;
    double time = 1e-3;
    if (has_nothing_to_begin())
        return 0;
    struct body *now = memory(bodies * sizeof *now), *next = memory(bodies * sizeof *next);
    double(*velocity)[3] = memory(bodies * sizeof *velocity);
    for (long i = 0; i < bodies; i++) /* scattered, by the fractions of multiples of roots */
        for (int d = 0; d < 3; d++) {
            now[i].at[d] = fmod((i + 1) * sqrt(d + 2.0 + d / 2), 1);
            now[i].mass = 1.0 / bodies;
            velocity[i][d] = 0;
        }
    double before = energy(now, velocity, bodies), begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    for (long step = 0; step < steps; step++) {
        for (int b = 0; b < BLOCKS; b++) {
            struct body *to = next + b * count;
            double(*its)[3] = velocity + b * count;
            long first = b * count;
#pragma omp target nowait device(any_rank()) map(to : now[0 : bodies]) map(tofrom : its[0 : count]) \
    map(from : to[0 : count])
            move(to, its, now, bodies, first, count, time);
        }
#pragma omp taskwait
        struct body *old = now;
        now = next;
        next = old;
    }
    double seconds = omp_get_wtime() - begin, after = energy(now, velocity, bodies);

    int right = fabs(after - before) <
                1e-3 * fabs(before); /* none is made, none is lost, but for the length of the steps */
    printf("nbody: %ld bodies, %ld steps, energy %.6f, then %.6f, %s\n", bodies, steps, before, after,
           right ? "right" : "WRONG");
    printf("  %.3f s\n", seconds);
    free(now);
    free(next);
    free(velocity);
    return !right;
}
