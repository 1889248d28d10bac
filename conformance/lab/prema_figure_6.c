// waits: PREMA, Figure 6: all tasks but one, which look and yield, for the last one created.
//        A yielding task that goes back to the end of the deque where tasks are taken is taken again for
//        ever.
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads(), word = 0, done = 0;
#pragma omp parallel shared(word, done)
#pragma omp single
    {
        for (int i = 1; i < n; i++)
#pragma omp task shared(word, done)
        {
            while (!LOAD(word)) {
#pragma omp taskyield
            }
            ADD(done, LOAD(word));
        }
#pragma omp task shared(word)
        STORE(word, 5);
    }
    return answer(done, 5 * (n - 1));
}
