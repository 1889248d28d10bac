// what: OMP_NUM_THREADS as a list gives each nesting level its own size
// env: OMP_NUM_THREADS=3,2,4 OMP_MAX_ACTIVE_LEVELS=3
// threads: 3
#include "check.h"
int main(void)
{
    int leaves = 0;
    CHECK_EQ(omp_get_max_threads(), 3);
#pragma omp parallel
    {
        CHECK_EQ(omp_get_num_threads(), 3);
        CHECK_EQ(omp_get_max_threads(), 2);
#pragma omp parallel
        {
            CHECK_EQ(omp_get_num_threads(), 2);
            CHECK_EQ(omp_get_max_threads(), 4);
#pragma omp parallel
            {
                CHECK_EQ(omp_get_num_threads(), 4);
                CHECK_EQ(omp_get_max_threads(), 4);
#pragma omp atomic
                leaves++;
            }
        }
    }
    CHECK_EQ(leaves, 24);
    return check_result();
}
