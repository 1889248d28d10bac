// waits: PREMA, Figure 2, as long as the team: task i, by taskyield, for the acknowledgment of task i + 1, created after it; the last for none
// free: from 1
#include "lab.h"

int main(void)
{
    int n = omp_get_max_threads();
    int acknowledged[MOST + 1] = {0};
#pragma omp parallel shared(acknowledged)
#pragma omp single
    {
        acknowledged[n] = 1;
        for (int i = 0; i < n; i++)
#pragma omp task shared(acknowledged) firstprivate(i)
        {
            while (!LOAD(acknowledged[i + 1])) {
#pragma omp taskyield
            }
            STORE(acknowledged[i], acknowledged[i + 1] + i + 1);
        }
    }
    return answer(acknowledged[0], 1 + n * (n + 1) / 2);
}
