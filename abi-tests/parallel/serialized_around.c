// what: regions of all sizes inside serialised ones, one after the other: the next does not meet those who leave the last
#include "check.h"
static int count;
static void nested(int outer, int inner)
{
    count = 0;
#pragma omp parallel num_threads(outer)
    {
#pragma omp parallel num_threads(inner)
        {
#pragma omp atomic
            count++;
        }
    }
    CHECK_EQ(count, outer * inner);
}
int main(void)
{
    int most = omp_get_max_threads() < 5 ? omp_get_max_threads() : 5;
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
    for (int round = 0; round < 100; round++)
        for (int outer = 1; outer <= most; outer++)
            for (int inner = 1; inner <= most; inner++)
                nested(outer, inner);
    return check_result();
}
