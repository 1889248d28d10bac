// what: proc_bind holds for the regions inside in code of gcc's, for its own region alone in code of clang's
// env: OMP_PROC_BIND=true OMP_MAX_ACTIVE_LEVELS=4
// peers: libomp fails, because it says close for true
#include "check.h"
int main(void)
{
    omp_proc_bind_t at_first = omp_get_proc_bind();
    CHECK_EQ(at_first, omp_proc_bind_true);
#ifdef __clang__
    omp_proc_bind_t after_spread = at_first, after_close = at_first;
#else
    omp_proc_bind_t after_spread = omp_proc_bind_spread, after_close = omp_proc_bind_close;
#endif
#pragma omp parallel num_threads(2)
    {
        CHECK_EQ(omp_get_proc_bind(), at_first);
#pragma omp parallel num_threads(2) proc_bind(spread)
        {
            CHECK_EQ(omp_get_proc_bind(), after_spread);
#pragma omp parallel num_threads(2)
            CHECK_EQ(omp_get_proc_bind(), after_spread);
#pragma omp parallel if (0) proc_bind(close)
            CHECK_EQ(omp_get_proc_bind(), after_close);
        }
#pragma omp parallel num_threads(2)
        CHECK_EQ(omp_get_proc_bind(), at_first);
    }
    CHECK_EQ(omp_get_proc_bind(), at_first);
    return check_result();
}
