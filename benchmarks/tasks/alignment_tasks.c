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

const struct program alignment_program = {"alignment", alignment_prepare, solve, alignment_check};
