// what: allocate(@ALLOCATOR@) with @CLAUSE@ on a region: copies are apart and have the old value
// languages: c, c++
// each: ALLOCATOR = omp_default_mem_alloc / omp_large_cap_mem_alloc / omp_thread_mem_alloc
// each: CLAUSE ; LOOK = private ; 0 / firstprivate ; 1
#include "check.h"
int main(void)
{
    int v[50] = {0}, runs = 0;
    v[49] = 6;
#pragma omp parallel @CLAUSE@(v) allocate(@ALLOCATOR@ : v) shared(runs)
    {
        int id = omp_get_thread_num();
        if (@LOOK@)
            CHECK_EQ(v[49], 6);
        v[49] = 100 + id;
#pragma omp barrier
        CHECK_EQ(v[49], 100 + id);
#pragma omp atomic
        runs++;
    }
    CHECK_EQ(v[49], 6);
    CHECK_EQ(runs, omp_get_max_threads());
    return check_result();
}
