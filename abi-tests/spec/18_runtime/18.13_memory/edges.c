// what: @RULE@
// languages: c, c++
// each: CASE ; RULE ; CHECKED = nothing ; omp_alloc of 0 bytes is NULL ; omp_alloc(0, a) == NULL / calloc of no elements ; omp_calloc of 0 elements is NULL ; omp_calloc(0, 8, a) == NULL / calloc of empty ones ; omp_calloc of empty elements is NULL ; omp_calloc(8, 0, a) == NULL / aligned nothing ; omp_aligned_alloc of 0 bytes is NULL ; omp_aligned_alloc(64, 0, a) == NULL / too much ; a product that does not fit is NULL ; omp_calloc((size_t)-1/4, 8, none) == NULL / realloc of NULL ; omp_realloc of NULL allocates ; (p = omp_realloc(NULL, 50, a, a)) != NULL / realloc to nothing ; omp_realloc to 0 bytes frees ; omp_realloc(omp_alloc(9, a), 0, a, a) == NULL / no traits ; an allocator without traits works ; (p = omp_alloc(9, plain)) != NULL
// each: CASE ; RULE ; CHECKED = unknown trait ; a trait that is none makes no allocator ; omp_init_allocator(omp_default_mem_space, 1, wrong) == omp_null_allocator / odd alignment ; an alignment that is no power of two makes no allocator ; omp_init_allocator(omp_default_mem_space, 1, odd) == omp_null_allocator / bad value ; a value that the trait does not have makes no allocator ; omp_init_allocator(omp_default_mem_space, 1, bad) == omp_null_allocator
// skip: clang<19 has an older omp.h than the one borrowed
// peers: libomp fails, because it aborts or takes what is wrong
// peers: libgomp fails, because it takes some of what is wrong
#include "check.h"
int main(void)
{
    omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}}, wrong[] = {{(omp_alloctrait_key_t)99, omp_atv_true}};
    omp_alloctrait_t odd[] = {{omp_atk_alignment, 48}}, bad[] = {{omp_atk_access, omp_atv_interleaved}};
    omp_allocator_handle_t a = omp_default_mem_alloc, none = omp_init_allocator(omp_default_mem_space, 1, null_fb);
    omp_allocator_handle_t plain = omp_init_allocator(omp_large_cap_mem_space, 0, NULL);
    void *p = NULL;
    CHECK(none != omp_null_allocator && plain != omp_null_allocator && wrong && odd && bad && a);
    CHECK(@CHECKED@);
    omp_free(p, omp_null_allocator);
    omp_destroy_allocator(none);
    omp_destroy_allocator(plain);
    return check_result();
}
