// waits: the tasks of a taskloop, one per thread, for all of them in a spinning barrier
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    struct meeting all = {0, 0};
#pragma omp parallel shared(sum, all)
#pragma omp single
#pragma omp taskloop grainsize(1) shared(sum, all)
    for (int i = 0; i < n; i++) {
        meet(&all, n);
        ADD(sum, i);
    }
    return answer(sum, n * (n - 1) / 2);
}
