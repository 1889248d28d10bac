// what: OMP_ALLOCATOR with traits is the default allocator: alignment, pool size, fallback; its _DEV form is not the host's
// env: OMP_ALLOCATOR=omp_large_cap_mem_space:alignment=256,pool_size=4096,fallback=null_fb OMP_ALLOCATOR_DEV=omp_const_mem_alloc
// threads: 1,4
// skip: clang<19 has an older omp.h than the one borrowed
// peers: libgomp fails, because gcc 12 takes predefined names only
#include "check.h"
#include <stdint.h>
int main(void)
{
    CHECK(omp_get_default_allocator() != omp_default_mem_alloc &&
          omp_get_default_allocator() != omp_const_mem_alloc);
    void *a = omp_alloc(1000, omp_null_allocator);
    CHECK(a != NULL && (uintptr_t)a % 256 == 0);
    CHECK(omp_alloc(4000, omp_null_allocator) == NULL);
    void *b = omp_alloc(4000, omp_default_mem_alloc);
    CHECK(b != NULL);
    omp_free(b, omp_null_allocator);
    omp_free(a, omp_null_allocator);
    a = omp_alloc(2000, omp_null_allocator);
    CHECK(a != NULL);
    omp_free(a, omp_null_allocator);
#pragma omp parallel
    {
        omp_set_default_allocator(omp_default_mem_alloc);
        void *c = omp_alloc(100000, omp_null_allocator);
        CHECK(c != NULL);
        omp_free(c, omp_null_allocator);
    }
    return check_result();
}
