// waits: iterations of a dynamic loop, handed out in order, each for the one before it, in sched_yield
// free: from 1
#include "lab.h"
#include <sched.h>

int main(void)
{
    int n = omp_get_max_threads(), word[3 * MOST + 1] = {0};
    word[0] = 1;
#pragma omp parallel for schedule(monotonic : dynamic, 1) shared(word)
    for (int i = 0; i < 3 * n; i++) {
        while (!LOAD(word[i]))
            sched_yield();
        STORE(word[i + 1], LOAD(word[i]) + 2);
    }
    return answer(word[3 * n], 1 + 6 * n);
}
