// what: master runs on thread 0 without a barrier; many barriers in a row keep threads in step
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), masters = 0, step[64] = {0};
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        for (int i = 0; i < 500; i++) {
#pragma omp master
            {
                CHECK_EQ(omp_get_thread_num(), 0);
                masters++;
            }
            step[id] = i;
#pragma omp barrier
            if (step[(id + 1) % n] != i)
                CHECK_EQ(step[(id + 1) % n], i);
#pragma omp barrier
        }
    }
    CHECK_EQ(masters, 500);
    return check_result();
}
