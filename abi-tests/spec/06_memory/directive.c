// what: omp allocate of a @STORAGE@ variable with @ALLOCATOR@
// languages: c, c++
// each: STORAGE ; FILE = static ; 1 / automatic ; 0
// each: ALLOCATOR = omp_default_mem_alloc / omp_large_cap_mem_alloc / omp_low_lat_mem_alloc
// compilers: clang>=19
#include "check.h"
static int sum_of(const int *v)
{
    int sum = 0;
    for (int i = 0; i < 100; i++)
        sum += v[i];
    return sum;
}
#if @FILE@
static int v[100];
#pragma omp allocate(v) allocator(@ALLOCATOR@)
#endif
int main(void)
{
#pragma omp parallel num_threads(3)
    {
#if !@FILE@
        int v[100];
#pragma omp allocate(v) allocator(@ALLOCATOR@)
#endif
#pragma omp critical
        {
            for (int i = 0; i < 100; i++)
                v[i] = i + omp_get_thread_num();
            CHECK_EQ(sum_of(v), 4950 + 100 * omp_get_thread_num());
        }
    }
    return check_result();
}
