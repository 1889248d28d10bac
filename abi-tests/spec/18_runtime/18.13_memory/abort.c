// what: abort_fb ends the program when @WHY@, by @CALL@
// languages: c, c++
// each: WHY ; POOL ; SIZE = the pool is too small ; 2048 ; 4000 / the pool is used up ; 2048 ; 1200
// each: CALL ; GET = omp_alloc ; omp_alloc(@SIZE@, allocator) / omp_calloc ; omp_calloc(1, @SIZE@, allocator) / omp_aligned_alloc ; omp_aligned_alloc(8, @SIZE@, allocator)
// expect-exit: failure
// expect-stderr: *
// skip: clang<19 has an older omp.h than the one borrowed
#include "check.h"
int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_pool_size, @POOL@}, {omp_atk_fallback, omp_atv_abort_fb}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 2, traits);
    for (int i = 0; i < 3; i++)
        if (!@GET@)
            return 0;
    return 0;
}
