/* Alignment of all pairs on OpenMP tasks: one task for each pair, made by all threads in a worksharing loop.
 */
#include "programs.h"

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp for schedule(dynamic) nowait
    for (int i = 1; i < SEQUENCES; ++i) {
        for (int j = 0; j < i; ++j) {
#pragma omp task
            alignment_scores[i][j] = alignment_score(i, j);
        }
    }
}

static int sequences;

static void prepare_some(void)
{
    alignment_prepare_long(sequences = 20);
}

static void prepare_many(void)
{
    alignment_prepare_long(sequences = MOST_SEQUENCES);
}

/* One thread makes all tasks, as programs do that have no worksharing loop. */
static void solve_from_single(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    for (int i = 1; i < sequences; ++i) {
        for (int j = 0; j < i; ++j) {
#pragma omp task
            alignment_scores[i][j] = alignment_score(i, j);
        }
    }
}

const struct program alignment_program = {"alignment", alignment_prepare, solve, alignment_check};
const struct program alignment_20_program = {"alignment_20", prepare_some, solve_from_single,
                                             alignment_check};
const struct program alignment_100_program = {"alignment_100", prepare_many, solve_from_single,
                                              alignment_check};
