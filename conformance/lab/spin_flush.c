// waits: every thread for the one before it, in the loop of the books: read a plain flag, flush, read again
// free: from 1
#include "lab.h"

enum { LAPS = 4 };
static volatile int turn;

int main(void)
{
    int n = omp_get_max_threads();
    long sum = 0;
#pragma omp parallel shared(sum)
    {
        int me = omp_get_thread_num();
        for (int lap = 0; lap < LAPS; lap++) {
            while (turn != lap * n + me) {
#pragma omp flush
            }
            sum = sum * 3 % 1000003 + me;
#pragma omp flush
            turn = lap * n + me + 1;
#pragma omp flush
        }
    }
    long expected = 0;
    for (int lap = 0; lap < LAPS; lap++)
        for (int me = 0; me < n; me++)
            expected = expected * 3 % 1000003 + me;
    return answer(sum, expected);
}
