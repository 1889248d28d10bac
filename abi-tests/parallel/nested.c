// what: three nested levels with max-active-levels 1, 2, 3: team sizes, ancestors, sums
// threads: 1,2,3,4
#include "check.h"
static void levels(int active, int n)
{
    omp_set_max_active_levels(active);
    CHECK_EQ(omp_get_max_active_levels(), active);
    int leaves = 0, n1 = active >= 1 ? n : 1, n2 = active >= 2 ? 2 : 1, n3 = active >= 3 ? 3 : 1;
    if (n == 1) {
        n2 = 2, n3 = active >= 2 ? 3 : 1;
    }
#pragma omp parallel num_threads(n)
    {
        int a = omp_get_thread_num();
        CHECK_EQ(omp_get_num_threads(), n1);
#pragma omp parallel num_threads(2)
        {
            int b = omp_get_thread_num();
            CHECK_EQ(omp_get_num_threads(), n2);
            CHECK_EQ(omp_get_ancestor_thread_num(1), a);
#pragma omp parallel num_threads(3)
            {
                CHECK_EQ(omp_get_num_threads(), n3);
                CHECK_EQ(omp_get_level(), 3);
                CHECK_EQ(omp_get_ancestor_thread_num(1), a);
                CHECK_EQ(omp_get_ancestor_thread_num(2), b);
                CHECK_EQ(omp_get_ancestor_thread_num(3), omp_get_thread_num());
                CHECK_EQ(omp_get_team_size(1), n1);
                CHECK_EQ(omp_get_team_size(2), n2);
                CHECK_EQ(omp_get_team_size(3), n3);
                CHECK_EQ(omp_get_active_level(), (n1 > 1) + (n2 > 1) + (n3 > 1));
#pragma omp atomic
                leaves++;
            }
        }
        CHECK_EQ(omp_get_thread_num(), a);
        CHECK_EQ(omp_get_level(), 1);
    }
    CHECK_EQ(leaves, n1 * n2 * n3);
}
int main(void)
{
    int n = omp_get_max_threads();
    for (int round = 0; round < 5; round++)
        for (int active = 1; active <= 3; active++)
            levels(active, n);
    return check_result();
}
