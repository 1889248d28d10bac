// what: if, num_threads, proc_bind, default, private, firstprivate, shared
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), count = 0;
#pragma omp parallel if (n > 100) reduction(+ : count)
    {
        count++;
        CHECK_EQ(omp_get_num_threads(), 1);
        CHECK_EQ(omp_get_level(), 1);
        CHECK_EQ(omp_get_active_level(), 0);
        CHECK_EQ(omp_in_parallel(), 0);
    }
    CHECK_EQ(count, 1);
    for (int want = 1; want <= 9; want++) {
        count = 0;
#pragma omp parallel num_threads(want) reduction(+ : count)
        count += omp_get_num_threads();
        CHECK_EQ(count, want * want);
    }
    count = 0;
#pragma omp parallel proc_bind(close) reduction(+ : count)
    count++;
    CHECK_EQ(count, n);
    count = 0;
#pragma omp parallel proc_bind(spread) num_threads(2) reduction(+ : count)
    count++;
    CHECK_EQ(count, 2);
    int fp = 5, pr = 7, sh = 0;
#pragma omp parallel default(none) firstprivate(fp) private(pr) shared(sh, check_made, check_failed, stderr)
    {
        pr = omp_get_thread_num();
        CHECK_EQ(fp, 5);
        fp += pr;
        CHECK_EQ(fp - pr, 5);
#pragma omp atomic
        sh += fp;
    }
    CHECK_EQ(fp, 5);
    CHECK_EQ(pr, 7);
    CHECK_EQ(sh, 5 * n + n * (n - 1) / 2);
    return check_result();
}
