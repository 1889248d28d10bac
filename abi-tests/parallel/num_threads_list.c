// what: lists of team sizes per level, pushed before a region, replace OMP_NUM_THREADS' list inside it and nowhere else
// compilers: clang>=19
// env: OMP_THREAD_LIMIT=64
// threads: 2
// mode: preload,symlink
// ours: peers word the warning differently
// expect-stderr: gangway: too few: a team of 90 threads was asked for, 64 can be had
// expect-stderr-lines: 1
#include "check.h"
void __kmpc_push_num_threads_list(void *, int, unsigned, int *);
void __kmpc_push_num_threads_list_strict(void *, int, unsigned, int *, int, const char *);
void __kmpc_push_num_threads_strict(void *, int, int, int, const char *);
static int inner(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    n = omp_get_num_threads();
    return n;
}
int main(void)
{
    int list[3] = {3, 5, 2}, one[1] = {4}, outer = 0, second = 0, third = 0;
    omp_set_max_active_levels(3);
    __kmpc_push_num_threads_list(NULL, 0, 3, list);
#pragma omp parallel
#pragma omp single
    {
        outer = omp_get_num_threads();
#pragma omp parallel
#pragma omp single
        {
            second = omp_get_num_threads();
            third = inner();
        }
    }
    CHECK_EQ(outer, 3);
    CHECK_EQ(second, 5);
    CHECK_EQ(third, 2);
    /* A list of one is a plain clause: the next level follows the environment. */
    __kmpc_push_num_threads_list(NULL, 0, 1, one);
#pragma omp parallel
#pragma omp single
    {
        outer = omp_get_num_threads();
        second = inner();
    }
    CHECK_EQ(outer, 4);
    CHECK_EQ(second, 2);
    CHECK_EQ(inner(), 2);
    __kmpc_push_num_threads_strict(NULL, 0, 4, 1, "not said");
    CHECK_EQ(inner(), 4);
    list[0] = 90;
    __kmpc_push_num_threads_list_strict(NULL, 0, 3, list, 1, "too few");
    CHECK_EQ(inner(), 64);
    return check_result();
}
