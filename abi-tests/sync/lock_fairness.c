// what: a lock that is held while the holder meets taskyield is not lost, and is handed on
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), count = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int i = 0; i < 50; i++) {
        omp_set_lock(&lock);
        int before = count;
#pragma omp taskyield
        count = before + 1;
        omp_unset_lock(&lock);
    }
    CHECK_EQ(count, 50 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
