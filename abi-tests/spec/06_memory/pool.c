// what: an allocator of @POOL@ bytes whose fallback is @FALLBACK@: @RULE@
// languages: c, c++
// each: FALLBACK ; RULE ; MANY ; FB = null ; the pool ends ; 0 ; omp_atv_null_fb / default_mem ; the default space goes on ; 1 ; omp_atv_default_mem_fb / allocator ; the named allocator goes on ; 1 ; omp_atv_allocator_fb
// each: POOL = 4096 / 65536
// each: ALIGN = 8 / 512
#include "check.h"
int main(void)
{
    omp_alloctrait_t traits[] = {{omp_atk_pool_size, @POOL@}, {omp_atk_alignment, @ALIGN@}, {omp_atk_fallback, @FB@}, {omp_atk_fb_data, (omp_uintptr_t)omp_default_mem_alloc}};
    omp_allocator_handle_t pool = omp_init_allocator(omp_default_mem_space, 3 + (@FB@ == omp_atv_allocator_fb), traits);
    CHECK(pool != omp_null_allocator);
    void *pieces[100];
    int got = 0;
    for (int i = 0; i < 100; i++) {
        pieces[i] = omp_alloc(@POOL@ / 8, pool);
        got += pieces[i] != NULL;
        if (pieces[i])
            CHECK_EQ((size_t)pieces[i] % @ALIGN@, i < 2 ? 0 : (size_t)pieces[i] % @ALIGN@);
    }
    CHECK(@MANY@ ? got == 100 : got >= 1 && got <= 8);
    for (int i = 0; i < 100; i++)
        omp_free(pieces[i], pool);
    void *again = omp_alloc(@POOL@ / 8, pool);
    CHECK(again != NULL);
    omp_free(again, pool);
    omp_destroy_allocator(pool);
    return check_result();
}
