// waits: PREMA, Figure 6, in turns: tasks in pairs, each waits by taskyield for the other, so that each is a yielding one and a new one by turns
// free: from 2
#include "lab.h"

enum { TURNS = 6 };
int main(void)
{
    int pairs = omp_get_max_threads() / 2, turn[MOST] = {0};
    long sum = 0;
#pragma omp parallel shared(turn)
#pragma omp single
    for (int i = 0; i < 2 * pairs; i++)
#pragma omp task shared(turn) firstprivate(i)
        for (int t = i % 2; t < TURNS; t += 2) {
            while (LOAD(turn[i / 2]) != t) {
#pragma omp taskyield
            }
            STORE(turn[i / 2], t + 1);
        }
    for (int i = 0; i < pairs; i++)
        sum += turn[i];
    return answer(sum, (long)pairs * TURNS);
}
