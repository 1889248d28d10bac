// waits: iteration i for iteration i - 1 by depend(sink), and in its body, spinning, for a word that iteration i - 1 sets behind its depend(source)
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), word[2 * MOST + 1] = {0};
    word[0] = 1;
#pragma omp parallel for ordered(1) schedule(static, 1) shared(word)
    for (int i = 0; i < 2 * n; i++) {
#pragma omp ordered depend(sink : i - 1)
        int before = i;
#pragma omp ordered depend(source)
        SPIN_UNTIL(LOAD(word[i]));
        STORE(word[i + 1], (LOAD(word[i]) * 5 + before) % 10007);
    }
    int expected = 1;
    for (int i = 0; i < 2 * n; i++)
        expected = (expected * 5 + i) % 10007;
    return answer(word[2 * n], expected);
}
