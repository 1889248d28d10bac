// waits: PREMA, Figure 6, with untied tasks that create a child each turn they wait: the newest task is always a child that is done at once, never the one waited for
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), word = 0, done = 0, children = 0, made = 0;
#pragma omp parallel shared(word, done, children, made)
#pragma omp single
    {
        for (int i = 1; i < n; i++)
#pragma omp task untied shared(word, done, children, made)
        {
            for (int turn = 0; turn < 20 || !LOAD(word); turn++) {
                if (turn < 20) {
                    ADD(made, 1);
#pragma omp task shared(children)
                    ADD(children, 1);
                }
#pragma omp taskyield
            }
#pragma omp taskwait
            ADD(done, 1);
        }
#pragma omp task shared(word)
        STORE(word, 1);
    }
    return answer(done * 1000L + children, (n - 1) * 1020L);
}
