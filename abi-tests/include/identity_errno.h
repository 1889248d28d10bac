/* The body of identity/errno*.c. */
#include "identity.h"
static void verify(int *where, int value)
{
    CHECK(errno_now() == where);
    CHECK_EQ(*where, value);
}
int main(void)
{
    int n = omp_get_max_threads(), locked = 0, ran = 0;
    const void *address[64];
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        int *where = errno_now();
        address[id] = where;
        for (int i = 0; i < 50; i++) {
            int value = 1000 * (id + 1) + i;
            *where = value;
#pragma omp barrier
            verify(where, value);
            omp_set_lock(&lock);
            verify(where, value);
            locked++;
            omp_unset_lock(&lock);
            verify(where, value);
#pragma omp task shared(ran)
            {
#pragma omp atomic
                ran++;
            }
#pragma omp taskwait
            verify(where, value);
#pragma omp critical
            verify(where, value);
#pragma omp taskyield
            verify(where, value);
        }
    }
    CHECK(distinct(address, n));
    CHECK_EQ(locked, 50 * n);
    CHECK_EQ(ran, 50 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
