/* The body of identity/threadprivate*.c. */
#include "identity.h"
static int number;
static long series[16];
#pragma omp threadprivate(number, series)
static const void *numbers[64], *rows[64];
static void set(int round)
{
    int id = omp_get_thread_num();
    number = 1000 * round + id;
    for (int k = 0; k < 16; k++)
        series[k] = 100 * id + k + round;
    numbers[id] = &number;
    rows[id] = series;
}
static void verify(int round, int n)
{
    int id = omp_get_thread_num();
    CHECK_EQ(omp_get_num_threads(), n);
    CHECK_EQ(number, 1000 * round + id);
    CHECK(numbers[id] == &number && rows[id] == series);
    for (int k = 0; k < 16; k++)
        CHECK_EQ(series[k], 100 * id + k + round);
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_set_dynamic(0);
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
            set(round);
#pragma omp barrier
#pragma omp single
            CHECK(distinct(numbers, n) && distinct(rows, n));
            verify(round, n);
        }
#pragma omp parallel
        {
            verify(round, n);
#pragma omp critical
            verify(round, n);
#pragma omp barrier
            verify(round, n);
        }
    }
    return check_result();
}
