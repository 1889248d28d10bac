// waits: in step s, thread i for thread i - 2^s, spinning: a dissemination barrier, in which nobody is first
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), sum[8][MOST] = {{0}}, told[8][MOST] = {{0}}, wrong = 0, steps = 0;
    while (1 << steps < n)
        steps++;
#pragma omp parallel shared(sum, told, wrong)
    {
        int me = omp_get_thread_num(), most = me;
        for (int s = 0; s < steps; s++) {
            int to = (me + (1 << s)) % n;
            STORE(sum[s][to], most);
            STORE(told[s][to], 1);
            SPIN_UNTIL(LOAD(told[s][me]));
            if (LOAD(sum[s][me]) > most)
                most = LOAD(sum[s][me]);
        }
        ADD(wrong, most != n - 1);
    }
    return answer(1000 * steps + wrong, 1000 * steps);
}
