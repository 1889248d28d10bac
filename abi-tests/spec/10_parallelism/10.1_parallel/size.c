// what: the size of a team: @CASE@
// languages: c, c++
// each: CASE ; BEFORE ; CLAUSE ; WANT = no clause ; ; ; omp_get_max_threads() / num_threads ; ; num_threads(5) ; 5 / set ; omp_set_num_threads(6) ; ; 6 / set and clause ; omp_set_num_threads(6) ; num_threads(3) ; 3 / if false ; ; if (parallel : x > 100) num_threads(4) ; 1 / if true ; ; if (x < 100) num_threads(4) ; 4 / one ; ; num_threads(1) ; 1 / expression ; ; num_threads(x/2 + 1) ; 4
// each: CASE ; BEFORE ; CLAUSE ; WANT = no active levels ; omp_set_max_active_levels(0) ; num_threads(4) ; 1 / dynamic ; omp_set_dynamic(1) ; num_threads(1) ; 1 / many ; ; num_threads(40) ; 40
#include "check.h"
int main(void)
{
    int x = 6, count = 0, ids[64] = {0};
    omp_set_dynamic(0);
    @BEFORE@;
    int want = @WANT@, max = omp_get_max_threads();
    for (int round = 1; round <= 2; round++) {
#pragma omp parallel @CLAUSE@ reduction(+ : count)
        {
            CHECK_EQ(omp_get_num_threads(), want);
            CHECK_EQ(omp_in_parallel(), want > 1);
            CHECK_EQ(omp_get_level(), 1);
            CHECK_EQ(omp_get_active_level(), want > 1);
            ids[omp_get_thread_num()]++;
            count++;
        }
        for (int i = 0; i < 64; i++)
            CHECK_EQ(ids[i], i < want ? round : 0);
    }
    CHECK_EQ(count, 2 * want);
    CHECK_EQ(omp_get_max_threads(), max);
    CHECK_EQ(omp_get_num_threads(), 1);
    return check_result();
}
