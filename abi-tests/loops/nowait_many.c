// what: more loops in flight than a runtime keeps descriptors: 40 dynamic loops without a barrier
#include "check.h"
int main(void)
{
    static int seen[40][64];
    int n = omp_get_max_threads();
    for (int round = 0; round < 20; round++) {
        memset(seen, 0, sizeof seen);
#pragma omp parallel
        {
            /* Thread 0 starts late: the others are many loops ahead of it. */
            if (omp_get_thread_num() == 0)
                for (volatile int spin = 0; spin < 20000; spin++) {
                }
            for (int loop = 0; loop < 40; loop++) {
                if (loop % 4 == 0) {
#pragma omp for schedule(dynamic) nowait
                    for (int i = 0; i < 64; i++)
                        __atomic_fetch_add(&seen[loop][i], 1, __ATOMIC_RELAXED);
                } else if (loop % 4 == 1) {
#pragma omp for schedule(guided) nowait
                    for (long i = 0; i < 64; i++)
                        __atomic_fetch_add(&seen[loop][i], 1, __ATOMIC_RELAXED);
                } else if (loop % 4 == 2) {
#pragma omp single nowait
                    for (int i = 0; i < 64; i++)
                        seen[loop][i]++;
                } else {
#pragma omp sections nowait
                    {
                        for (int i = 0; i < 32; i++)
                            seen[loop][i]++;
#pragma omp section
                        for (int i = 32; i < 64; i++)
                            seen[loop][i]++;
                    }
                }
            }
        }
        for (int loop = 0; loop < 40; loop++)
            for (int i = 0; i < 64; i++)
                if (seen[loop][i] != 1)
                    CHECK_EQ(seen[loop][i], 1);
    }
    CHECK(n > 0);
    return check_result();
}
