// what: @OUTER@ x @INNER@ @SHAPE@ nested threads with max-active-levels @LEVELS@: levels, ancestors, sizes, sums
// languages: c, c++
// each: LEVELS = 1 / 2 / 3
// each: OUTER ; INNER = 2 ; 3 / 4 ; 1 / 1 ; 4 / 3 ; 2
// each: SHAPE ; DEEP = flat ; 1 / deep ; 2
#include "check.h"
int main(void)
{
    int outer = 0, inner = 0, deep = 0;
    omp_set_dynamic(0);
    omp_set_max_active_levels(@LEVELS@);
    CHECK_EQ(omp_get_max_active_levels(), @LEVELS@);
    int left = @LEVELS@ - (@OUTER@ > 1), want_inner = left > 0 ? @INNER@ : 1;
    int want_deep = left - (want_inner > 1) > 0 ? @DEEP@ : 1;
#pragma omp parallel num_threads(@OUTER@) reduction(+ : outer, inner, deep)
    {
        int mine = omp_get_thread_num();
        outer++;
#pragma omp parallel num_threads(@INNER@) reduction(+ : inner, deep)
        {
            int second = omp_get_thread_num();
            inner++;
            CHECK_EQ(omp_get_num_threads(), want_inner);
            CHECK_EQ(omp_get_ancestor_thread_num(1), mine);
#pragma omp parallel num_threads(@DEEP@) reduction(+ : deep)
            {
                deep++;
                CHECK_EQ(omp_get_level(), 3);
                CHECK_EQ(omp_get_active_level(), (@OUTER@ > 1) + (want_inner > 1) + (want_deep > 1));
                CHECK_EQ(omp_get_ancestor_thread_num(0), 0);
                CHECK_EQ(omp_get_ancestor_thread_num(1), mine);
                CHECK_EQ(omp_get_ancestor_thread_num(2), second);
                CHECK_EQ(omp_get_ancestor_thread_num(3), omp_get_thread_num());
                CHECK_EQ(omp_get_ancestor_thread_num(4), -1);
                CHECK_EQ(omp_get_team_size(1), @OUTER@);
                CHECK_EQ(omp_get_team_size(2), want_inner);
                CHECK_EQ(omp_get_team_size(3), want_deep);
            }
        }
    }
    CHECK_EQ(outer, @OUTER@);
    CHECK_EQ(inner, @OUTER@ * want_inner);
    CHECK_EQ(deep, @OUTER@ * want_inner * want_deep);
    return check_result();
}
