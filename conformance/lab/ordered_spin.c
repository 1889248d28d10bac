// waits: each iteration of an ordered loop, spinning before its ordered block, for a flag that the iteration before it sets behind its own
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), flag[2 * MOST + 1] = {0}, value = 0;
    flag[0] = 1;
#pragma omp parallel for ordered schedule(static, 1) shared(flag, value)
    for (int i = 0; i < 2 * n; i++) {
        SPIN_UNTIL(LOAD(flag[i]));
#pragma omp ordered
        value = (value * 3 + i) % 10007;
        STORE(flag[i + 1], 1);
    }
    int expected = 0;
    for (int i = 0; i < 2 * n; i++)
        expected = (expected * 3 + i) % 10007;
    return answer(value, expected);
}
