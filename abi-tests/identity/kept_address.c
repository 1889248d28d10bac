// what: optimised code of shared libraries, which computes the address of a thread-local variable once per function, before and after every kind of wait
// threads: 1,3,17
// opt: -O2
// flags: all -fPIC
#include "identity.h"
static __thread long local;
static long private_to_thread;
#pragma omp threadprivate(private_to_thread)
long outer_threads;
/* One function, so that the compiler keeps the addresses over all of it. */
static __attribute__((noinline)) void waits(long id, omp_lock_t *lock)
{
    for (long round = 0; round < 20; round++) {
        long value = 1000 * id + round;
        local = private_to_thread = value, errno = (int)value;
#pragma omp barrier
        CHECK(local == value && private_to_thread == value && errno == (int)value);
        local++, private_to_thread++, errno++;
#pragma omp task
        __atomic_fetch_add(&outer_threads, 1, __ATOMIC_RELAXED);
#pragma omp taskwait
        CHECK(local == value + 1 && private_to_thread == value + 1);
#pragma omp critical
        local++, private_to_thread++;
        omp_set_lock(lock);
        CHECK(local == value + 2 && private_to_thread == value + 2);
        local++, private_to_thread++;
        omp_unset_lock(lock);
#pragma omp taskyield
        CHECK(local == value + 3 && private_to_thread == value + 3);
#pragma omp taskgroup
        {
#pragma omp task
            __atomic_fetch_add(&outer_threads, 1, __ATOMIC_RELAXED);
        }
        local++, private_to_thread++;
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 4; i++)
#pragma omp ordered
            local++, private_to_thread++;
        CHECK(local - private_to_thread == 0);
        errno = (int)value;
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
            if (omp_get_thread_num() == 1)
                local = private_to_thread = errno = -1;
#pragma omp barrier
        }
        CHECK(local >= value + 4 && local == private_to_thread);
#pragma omp single
        local = -5;
        if (local == -5)
            local = value;
        CHECK(local >= value);
    }
}
int main(void)
{
    int n = omp_get_max_threads();
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
#pragma omp parallel
    waits(omp_get_thread_num(), &lock);
    CHECK_EQ(outer_threads, 2L * 20 * n);
    omp_destroy_lock(&lock);
    return check_result();
}
