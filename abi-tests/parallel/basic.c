// what: one region: every thread number once, team size, levels, the implied barrier
#include "check.h"
int main(void)
{
    int want = omp_get_max_threads(), seen[64] = {0}, size = 0, after = 0;
    CHECK_EQ(omp_in_parallel(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    CHECK_EQ(omp_get_thread_num(), 0);
    CHECK_EQ(omp_get_level(), 0);
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        CHECK(id >= 0 && id < want);
        CHECK_EQ(omp_get_level(), 1);
        CHECK_EQ(omp_get_active_level(), want > 1);
        CHECK_EQ(omp_in_parallel(), want > 1);
        CHECK_EQ(omp_get_ancestor_thread_num(0), 0);
        CHECK_EQ(omp_get_ancestor_thread_num(1), id);
        CHECK_EQ(omp_get_ancestor_thread_num(2), -1);
        CHECK_EQ(omp_get_team_size(0), 1);
        CHECK_EQ(omp_get_team_size(1), want);
        CHECK_EQ(omp_get_team_size(2), -1);
#pragma omp atomic
        seen[id]++;
#pragma omp single
        size = omp_get_num_threads();
#pragma omp barrier
#pragma omp atomic
        after += size;
    }
    for (int i = 0; i < 64; i++)
        CHECK_EQ(seen[i], i < want);
    CHECK_EQ(size, want);
    CHECK_EQ(after, want * want);
    return check_result();
}
