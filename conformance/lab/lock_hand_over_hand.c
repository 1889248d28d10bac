// waits: threads that walk along a row of OpenMP locks, each taken before the one behind it is given back; a spinner waits for the last walker
// free: from 1
#include "lab.h"

enum { ROW = 6 };
int main(void)
{
    int n = omp_get_max_threads(), cell[ROW] = {0}, ended = 0, saw = 0;
    omp_lock_t lock[ROW];
    for (int i = 0; i < ROW; i++)
        omp_init_lock(&lock[i]);
#pragma omp parallel shared(cell, ended, saw, lock)
    {
        omp_set_lock(&lock[0]);
        for (int i = 0; i < ROW; i++) {
            cell[i]++;
            if (i + 1 < ROW)
                omp_set_lock(&lock[i + 1]);
            omp_unset_lock(&lock[i]);
        }
        ADD(ended, 1);
        if (omp_get_thread_num() == 0) {
            SPIN_UNTIL(LOAD(ended) == n);
            for (int i = 0; i < ROW; i++)
                saw += cell[i];
        }
    }
    return answer(saw, ROW * n);
}
