/* Merge sort on OpenMP tasks: quarters are sorted, then merged in pairs; long merges are split at the median
 * of the longer part. */
#include "programs.h"

static void merge(const int *a, long count_a, const int *b, long count_b, int *to)
{
    if (count_a < count_b) {
        merge(b, count_b, a, count_a, to);
        return;
    }
    if (count_a + count_b <= SORT_LEAF) {
        merge_leaf(a, count_a, b, count_b, to);
        return;
    }
    const long half_a = count_a / 2, half_b = rank_of(a[half_a], b, count_b);
#pragma omp task
    merge(a, half_a, b, half_b, to);
#pragma omp task
    merge(a + half_a, count_a - half_a, b + half_b, count_b - half_b, to + half_a + half_b);
#pragma omp taskwait
}

static void sort(int *data, int *scratch, long count)
{
    if (count <= SORT_LEAF) {
        sort_leaf(data, count);
        return;
    }
    const long quarter = count / 4, half = 2 * quarter, last = count - 3 * quarter;
#pragma omp task
    sort(data, scratch, quarter);
#pragma omp task
    sort(data + quarter, scratch + quarter, quarter);
#pragma omp task
    sort(data + half, scratch + half, quarter);
#pragma omp task
    sort(data + half + quarter, scratch + half + quarter, last);
#pragma omp taskwait
#pragma omp task
    merge(data, quarter, data + quarter, quarter, scratch);
#pragma omp task
    merge(data + half, quarter, data + half + quarter, last, scratch + half);
#pragma omp taskwait
    merge(scratch, half, scratch + half, count - half, data);
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    sort(sort_data, sort_scratch, SORT_COUNT);
}

const struct program sort_program = {"sort", sort_prepare, solve, sort_check};
