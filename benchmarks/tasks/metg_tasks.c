/* The graph by OpenMP tasks: one thread makes them step by step, `depend` orders them. */
#include "metg.h"

#include <omp.h>

void metg_prepare(void)
{
    omp_set_dynamic(0);
    omp_set_num_threads(team_size);
}

/* The cell that a task computes, and those that it reads. */
#define WRITTEN rows[step % 2][i]
#define READ(j) rows[(step + 1) % 2][reads->cells[j]]

static void make_step(int step, long iterations)
{
    const int at = step % graph.period;
    for (int i = 0; i < graph.width[at]; ++i) {
        const struct reads *const reads = &graph.reads[at][i];
        switch (reads->count) {
        case 1:
#pragma omp task depend(in : READ(0)) depend(out : WRITTEN)
            metg_task(step, i, iterations);
            break;
        case 2:
#pragma omp task depend(in : READ(0), READ(1)) depend(out : WRITTEN)
            metg_task(step, i, iterations);
            break;
        case 3:
#pragma omp task depend(in : READ(0), READ(1), READ(2)) depend(out : WRITTEN)
            metg_task(step, i, iterations);
            break;
        default:
#pragma omp task depend(iterator(int j = 0 : reads->count), in : READ(j)) depend(out : WRITTEN)
            metg_task(step, i, iterations);
        }
    }
}

void metg_run(long iterations)
{
#pragma omp parallel
#pragma omp single
    for (int step = 0; step < graph.steps; ++step)
        make_step(step, iterations);
}
