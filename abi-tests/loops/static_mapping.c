// what: static loops give the same iteration to the same thread in two loops, contiguous without a chunk
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    static int a[1003], b[1003], c[1003];
#pragma omp parallel
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < 1003; i++)
            a[i] = omp_get_thread_num();
#pragma omp for schedule(static)
        for (int i = 0; i < 1003; i++)
            b[i] = a[i] == omp_get_thread_num();
#pragma omp for schedule(static, 10)
        for (int i = 0; i < 1003; i++)
            c[i] = omp_get_thread_num();
    }
    int changes = 0;
    for (int i = 0; i < 1003; i++) {
        CHECK_EQ(b[i], 1);
        CHECK_EQ(c[i], i / 10 % n);
        changes += i > 0 && a[i] != a[i - 1];
    }
    CHECK_EQ(changes, n - 1);
    return check_result();
}
