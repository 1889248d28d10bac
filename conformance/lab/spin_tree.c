// waits: every thread for its two children in a binary tree, and then for its parent, spinning: a barrier that gathers and releases
// free: from 1
#include "lab.h"

enum { ROUNDS = 3 };
int main(void)
{
    int n = omp_get_max_threads(), up[MOST] = {0}, down[MOST] = {0};
    long root = 0;
#pragma omp parallel shared(up, down, root)
    {
        int me = omp_get_thread_num();
        for (int round = 1; round <= ROUNDS; round++) {
            int below = 1;
            for (int child = 2 * me + 1; child <= 2 * me + 2 && child < n; child++) {
                SPIN_UNTIL(LOAD(up[child]) / 100 == round);
                below += LOAD(up[child]) % 100;
            }
            STORE(up[me], 100 * round + below);
            if (me == 0)
                root = root * 100 + below;
            else
                SPIN_UNTIL(LOAD(down[(me - 1) / 2]) == round);
            STORE(down[me], round);
        }
    }
    return answer(root, n * 10101L);
}
