// what: threadprivate objects with constructors: one per thread, copyin by assignment, thread_local beside them
// skip: clang<19 does not run dynamic constructors of file-scope threadprivate on team threads reliably
#include "check.h"
#include <vector>
static int made;
struct holder {
    std::vector<int> v;
    holder() : v(3, 7)
    {
        __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    }
};
extern holder held;
#pragma omp threadprivate(held)
holder held;
static thread_local std::vector<int> local(2, 5);
int main()
{
    int n = omp_get_max_threads();
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        CHECK_EQ(held.v[2], 7);
        CHECK_EQ(local[1], 5);
        held.v.push_back(id);
        local.push_back(id);
    }
#pragma omp parallel
    {
        CHECK_EQ(held.v.back(), omp_get_thread_num());
        CHECK_EQ(local.back(), omp_get_thread_num());
    }
    CHECK_EQ(made, n);
    held.v.assign(1, 42);
#pragma omp parallel copyin(held)
    CHECK_EQ(held.v[0], 42);
    return check_result();
}
