// what: loops over random-access iterators and range for, taskloop over them, lambdas with regions
#include "check.h"
#include <numeric>
#include <vector>
#include <functional>
template <typename T>
static T total(const std::vector<T> &v)
{
    T sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 3)
    for (auto it = v.begin(); it < v.end(); ++it)
        sum += *it;
    return sum;
}
int main()
{
    std::vector<long> v(1000);
    std::iota(v.begin(), v.end(), 0L);
    CHECK_EQ(total(v), 499500);
    std::vector<double> d(100, 0.5);
    CHECK(total(d) == 50);
#pragma omp parallel for
    for (auto it = v.rbegin(); it < v.rend(); it += 2)
        *it = -1;
    long left = 0;
    for (long x : v)
        left += x == -1;
    CHECK_EQ(left, 500);
    int hits = 0;
    std::function<void(int)> region = [&](int depth) {
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            hits++;
            if (depth > 0 && omp_get_thread_num() == 0)
                region(depth - 1);
        }
    };
    omp_set_max_active_levels(4);
    region(3);
    CHECK_EQ(hits, 8);
#pragma omp parallel
#pragma omp single
#pragma omp taskloop
    for (int i = 0; i < 1000; i++)
        v[i] = i;
    CHECK_EQ(total(v), 499500);
    return check_result();
}
