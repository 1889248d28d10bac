// what: regions inside target regions inside regions: levels begin anew, sums are right, nothing hangs
#include "check.h"
static int work(int i)
{
    int sum = 0, level = -1;
#pragma omp target map(tofrom : sum, level)
    {
        level = omp_get_level();
#pragma omp parallel for reduction(+ : sum)
        for (int j = 0; j < 100; j++)
            sum += i + j;
    }
#ifdef __clang__ /* calls the region's host version without a word to the runtime */
    CHECK(level <= 1);
#else
    CHECK_EQ(level, 0);
#endif
    return sum;
}
int main(void)
{
    for (int round = 0; round < 20; round++) {
        long total = 0;
        int left = 0;
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 20; i++) {
#pragma omp task shared(total)
            {
                int sum = work(i);
#pragma omp atomic
                total += sum;
            }
        }
        CHECK_EQ(total, 20 * 4950 + 190 * 100);
        total = 0;
#pragma omp parallel reduction(+ : total, left)
        {
            total += work(omp_get_thread_num());
#pragma omp barrier
            left += omp_get_level();
        }
        int n = left;
        CHECK_EQ(total, n * 4950L + n * (n - 1) / 2 * 100L);
    }
    return check_result();
}
