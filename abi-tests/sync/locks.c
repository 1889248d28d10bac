// what: simple and nestable locks, hints, contention, test, counts
#include "check.h"
#ifdef __clang__
#define INIT_HINTED omp_init_lock_with_hint
#define INIT_NEST_HINTED omp_init_nest_lock_with_hint
#else /* declared by gcc 12, but not in its library */
#define INIT_HINTED(lock, hint) omp_init_lock(lock)
#define INIT_NEST_HINTED(lock, hint) omp_init_nest_lock(lock)
#endif
static void work(omp_lock_t *lock, int n)
{
    long count = 0, tried = 0;
#pragma omp parallel
    for (int i = 0; i < 300; i++) {
        omp_set_lock(lock);
        count++;
        omp_unset_lock(lock);
        if (omp_test_lock(lock)) {
            tried++;
            count++;
            omp_unset_lock(lock);
        }
    }
    CHECK_EQ(count, 300L * n + tried);
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_lock_t lock, hinted;
    omp_nest_lock_t nest, hinted_nest;
    omp_init_lock(&lock);
    INIT_HINTED(&hinted, omp_sync_hint_contended);
    omp_init_nest_lock(&nest);
    INIT_NEST_HINTED(&hinted_nest, omp_sync_hint_uncontended);
    work(&lock, n);
    work(&hinted, n);
    CHECK(omp_test_lock(&lock));
    CHECK(!omp_test_lock(&lock));
    omp_unset_lock(&lock);
    CHECK_EQ(omp_test_nest_lock(&nest), 1);
    CHECK_EQ(omp_test_nest_lock(&nest), 2);
    omp_set_nest_lock(&nest);
    CHECK_EQ(omp_test_nest_lock(&nest), 4);
    for (int i = 0; i < 4; i++)
        omp_unset_nest_lock(&nest);
    long count = 0;
#pragma omp parallel
    for (int i = 0; i < 100; i++) {
        omp_set_nest_lock(&nest);
        omp_set_nest_lock(&nest);
        count++;
        omp_unset_nest_lock(&nest);
        count++;
        omp_unset_nest_lock(&nest);
        omp_set_nest_lock(&hinted_nest);
        omp_unset_nest_lock(&hinted_nest);
    }
    CHECK_EQ(count, 200L * n);
    omp_destroy_lock(&lock);
    omp_destroy_lock(&hinted);
    omp_destroy_nest_lock(&nest);
    omp_destroy_nest_lock(&hinted_nest);
    omp_lock_t *many = (omp_lock_t *)malloc(500 * sizeof *many);
    for (int i = 0; i < 500; i++)
        omp_init_lock(&many[i]);
    count = 0;
#pragma omp parallel for reduction(+ : count)
    for (int i = 0; i < 5000; i++) {
        omp_set_lock(&many[i % 500]);
        count++;
        omp_unset_lock(&many[i % 500]);
    }
    for (int i = 0; i < 500; i++)
        omp_destroy_lock(&many[i]);
    free(many);
    CHECK_EQ(count, 5000);
    return check_result();
}
