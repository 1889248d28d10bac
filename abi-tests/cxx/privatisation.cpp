// what: constructors, copies and destructors of private, firstprivate, lastprivate, copyprivate and task copies balance
#include "check.h"
#include <memory>
static int alive, copies;
struct thing {
    int value;
    thing(int v = 3) : value(v)
    {
        __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
    }
    thing(const thing &o) : value(o.value)
    {
        __atomic_fetch_add(&alive, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&copies, 1, __ATOMIC_RELAXED);
    }
    thing &operator=(const thing &o)
    {
        value = o.value;
        return *this;
    }
    ~thing()
    {
        __atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
    }
};
int main()
{
    int n = omp_get_max_threads();
    {
        thing a(10), b(20), c(30), d(40);
#pragma omp parallel private(a) firstprivate(b)
        {
            CHECK_EQ(a.value, 3);
            CHECK_EQ(b.value, 20);
        }
        CHECK(copies >= n);
#pragma omp parallel for lastprivate(c) schedule(static, 3)
        for (int i = 0; i < 50; i++)
            c.value = i;
        CHECK_EQ(c.value, 49);
#pragma omp parallel
        {
            thing local(omp_get_thread_num());
#pragma omp single copyprivate(local)
            local.value = 99;
            CHECK_EQ(local.value, 99);
        }
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 30; i++) {
            std::shared_ptr<thing> shared = std::make_shared<thing>(i);
#pragma omp task firstprivate(d, shared, i)
            {
                CHECK_EQ(d.value, 40);
                CHECK_EQ(shared->value, i);
            }
        }
    }
    CHECK_EQ(alive, 0);
    return check_result();
}
