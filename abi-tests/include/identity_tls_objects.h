/* The body of identity/tls_objects*.cpp. */
#include <sched.h>
#define SPIN_STEP sched_yield()
#include "identity.h"
#include "spin.h"
static int constructed;
struct object {
    int made, value;
    object() : made(1), value(-1)
    {
        ADD(constructed, 1);
    }
    object(const object &) = delete;
};
static thread_local object mine;
static __thread int plain;
static const void *objects[64], *plains[64], *errnos[64];
static spin_barrier all;

/* Every caller is a thread of its own and `count` of them are alive at the wait. */
static void fill(int index, int count)
{
    mine.value = index;
    plain = index;
    objects[index] = &mine;
    plains[index] = &plain;
    errnos[index] = errno_now();
    spin_wait(&all, count);
    CHECK(distinct(objects, count) && distinct(plains, count) && distinct(errnos, count));
    CHECK_EQ(mine.value, index);
    CHECK_EQ(mine.made, 1);
    CHECK_EQ(plain, index);
    spin_wait(&all, count);
}
int main()
{
    int n = omp_get_max_threads();
    omp_set_max_active_levels(2);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel
        fill(omp_get_thread_num(), n);
#pragma omp parallel num_threads(4)
        {
            int outer = omp_get_thread_num();
#pragma omp parallel num_threads(4)
            {
                CHECK_EQ(omp_get_num_threads(), 4);
                int index = 4 * outer + omp_get_thread_num();
                fill(index, 16);
#pragma omp barrier
                CHECK_EQ(mine.value, index);
                CHECK_EQ(plain, index);
            }
            CHECK_EQ(mine.value, 4 * outer);
        }
    }
    CHECK(constructed >= (n > 16 ? n : 16));
    return check_result();
}
