// what: internal control variables set inside a region belong to the task that set them
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    omp_set_max_active_levels(2);
    omp_set_dynamic(0);
    omp_set_schedule(omp_sched_dynamic, 5);
#pragma omp parallel
    {
        int id = omp_get_thread_num(), chunk;
        omp_sched_t kind;
        omp_get_schedule(&kind, &chunk);
        CHECK_EQ(kind & 7, omp_sched_dynamic);
        CHECK_EQ(chunk, 5);
        omp_set_num_threads(id % 3 + 1);
        omp_set_schedule(omp_sched_guided, id + 2);
#pragma omp barrier
        CHECK_EQ(omp_get_max_threads(), id % 3 + 1);
        omp_get_schedule(&kind, &chunk);
        CHECK_EQ(kind & 7, omp_sched_guided);
        CHECK_EQ(chunk, id + 2);
#pragma omp parallel
        {
            CHECK_EQ(omp_get_num_threads(), id % 3 + 1);
            int inner;
            omp_sched_t same;
            omp_get_schedule(&same, &inner);
            CHECK_EQ(same & 7, omp_sched_guided);
            CHECK_EQ(inner, id + 2);
        }
    }
    int chunk;
    omp_sched_t kind;
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind & 7, omp_sched_dynamic);
    CHECK_EQ(chunk, 5);
    CHECK_EQ(omp_get_max_threads(), n);
    return check_result();
}
