/* The body of spin/test_lock*.c. */
#include "check.h"
#include "spin.h"
static omp_lock_t lock;
static omp_nest_lock_t nested;
static int inside, total;
static void under_lock(void)
{
    while (!omp_test_lock(&lock))
        ;
    CHECK_EQ(++inside, 1);
#pragma omp taskyield
    total++;
    CHECK_EQ(inside--, 1);
    omp_unset_lock(&lock);
}
static void under_nested(void)
{
    while (omp_test_nest_lock(&nested) == 0)
        ;
    CHECK_EQ(omp_test_nest_lock(&nested), 2);
    total++;
#pragma omp critical
    total++;
    omp_unset_nest_lock(&nested);
    omp_unset_nest_lock(&nested);
}
int main(void)
{
    int n = omp_get_max_threads(), turn = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nested);
#pragma omp parallel shared(turn)
    {
        int id = omp_get_thread_num();
        for (int i = 0; i < 20; i++)
            under_lock();
#pragma omp barrier
        for (int i = 0; i < 20; i++)
            under_nested();
        for (int round = 0; round < 5; round++) {
            while (LOAD(turn) != round * n + id) {
#pragma omp taskyield
            }
            STORE(turn, round * n + id + 1);
        }
    }
    CHECK_EQ(total, 60 * n);
    CHECK_EQ(turn, 5 * n);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nested);
    return check_result();
}
