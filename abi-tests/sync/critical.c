// what: critical excludes: unnamed, two names, with a hint; different names do not exclude each other
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    long a = 0, b = 0, c = 0, d = 0;
    int inside = 0;
#pragma omp parallel
    for (int i = 0; i < 400; i++) {
#pragma omp critical
        {
            inside++;
            a++;
            if (inside != 1)
                CHECK_EQ(inside, 1);
            inside--;
        }
#pragma omp critical(one)
        {
            b += 2;
#pragma omp critical(two)
            c += 3;
        }
#pragma omp critical(hinted) hint(omp_sync_hint_contended)
        d += 4;
    }
    CHECK_EQ(a, 400L * n);
    CHECK_EQ(b, 800L * n);
    CHECK_EQ(c, 1200L * n);
    CHECK_EQ(d, 1600L * n);
    return check_result();
}
