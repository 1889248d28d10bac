// what: omp_set_default_allocator(omp_@KIND@_mem_alloc): get says so, and omp_null_allocator means it, @WHERE@
// languages: c, c++
// each: KIND = default / large_cap / const / high_bw / low_lat / cgroup / pteam / thread
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(2)") / in a task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task")
// skip: clang<19 has an older omp.h than the one borrowed
#include "check.h"
int main(void)
{
    CHECK(omp_get_default_allocator() == omp_default_mem_alloc);
    @OPEN@
    {
        omp_set_default_allocator(omp_@KIND@_mem_alloc);
        CHECK(omp_get_default_allocator() == omp_@KIND@_mem_alloc);
        char *p = (char *)omp_alloc(100, omp_null_allocator);
        CHECK(p != NULL);
        if (p)
            memset(p, 1, 100);
        omp_free(p, omp_null_allocator);
    }
    return check_result();
}
