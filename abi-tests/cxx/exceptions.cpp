// what: exceptions thrown and caught in a region at every nesting, in tasks, loops, sections and criticals
#include "check.h"
#include <stdexcept>
#include <string>
struct guard {
    int *count;
    explicit guard(int *c) : count(c) {}
    ~guard()
    {
        __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
    }
};
static void thrower(int value, int depth, int *unwound)
{
    guard g(unwound);
    if (depth == 0)
        throw std::runtime_error(std::to_string(value));
    thrower(value, depth - 1, unwound);
}
static void expect(int value, int *unwound)
{
    int caught = -1;
    try {
        thrower(value, 5, unwound);
    } catch (const std::runtime_error &error) {
        caught = std::stoi(error.what());
    }
    CHECK_EQ(caught, value);
}
int main()
{
    int n = omp_get_max_threads(), unwound = 0, places = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel
    {
        expect(omp_get_thread_num(), &unwound);
#pragma omp parallel num_threads(2)
        {
            expect(10 + omp_get_thread_num(), &unwound);
#pragma omp parallel num_threads(2)
            expect(20 + omp_get_thread_num(), &unwound);
        }
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 20; i++)
            expect(i, &unwound);
#pragma omp critical
        expect(5, &unwound);
#pragma omp task shared(unwound)
        expect(6, &unwound);
#pragma omp atomic
        places++;
    }
    CHECK_EQ(places, n);
    CHECK_EQ(unwound, 6 * (n + 2 * n + 4 * n + 20 + n + n));
    return check_result();
}
