// what: @CALL@ with the alignment @ALIGN@, and the trait alignment @TRAIT@: the larger holds
// languages: c, c++
// each: CALL ; GET = omp_aligned_alloc ; omp_aligned_alloc(@ALIGN@, 4096, allocator) / omp_aligned_calloc ; omp_aligned_calloc(@ALIGN@, 512, 8, allocator)
// each: ALIGN = 8 / 64 / 1024
// each: TRAIT = 16 / 256 / 4096
// skip: clang<19 has an older omp.h than the one borrowed
#include "check.h"
int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_alignment, @TRAIT@}};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, traits);
    CHECK(allocator != omp_null_allocator);
    for (int i = 0; i < 20; i++) {
        char *p = (char *)@GET@;
        CHECK(p != NULL);
        if (!p)
            break;
        CHECK_EQ((size_t)p % @ALIGN@, 0);
        CHECK_EQ((size_t)p % @TRAIT@, 0);
        memset(p, i, 4096);
        p = (char *)omp_realloc(p, 9000, allocator, omp_null_allocator);
        CHECK(p != NULL && p[4095] == i);
        omp_free(p, i % 2 ? allocator : omp_null_allocator);
    }
    omp_destroy_allocator(allocator);
    return check_result();
}
