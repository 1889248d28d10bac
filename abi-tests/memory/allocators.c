// what: omp_alloc, omp_aligned_alloc, calloc, realloc, allocators with traits, the allocate clause
// skip: clang<19 has an older omp.h than the one borrowed
#include "check.h"
#include <stdint.h>
int main(void)
{
    omp_allocator_handle_t known[] = {omp_default_mem_alloc, omp_large_cap_mem_alloc, omp_const_mem_alloc,
                                      omp_high_bw_mem_alloc, omp_low_lat_mem_alloc,   omp_cgroup_mem_alloc,
                                      omp_pteam_mem_alloc,   omp_thread_mem_alloc};
    for (int k = 0; k < 8; k++) {
        char *p = (char *)omp_alloc(100, known[k]);
        if (k == 0)
            CHECK(p != NULL);
        if (p)
            memset(p, 1, 100);
        omp_free(p, known[k]);
    }
    omp_alloctrait_t traits[] = {
        {omp_atk_alignment, 256}, {omp_atk_pool_size, 4096}, {omp_atk_fallback, omp_atv_null_fb}};
    omp_allocator_handle_t mine = omp_init_allocator(omp_default_mem_space, 3, traits);
    CHECK(mine != omp_null_allocator);
    void *a = omp_alloc(1000, mine);
    CHECK(a != NULL && (uintptr_t)a % 256 == 0);
    void *too_big = omp_alloc(100000, mine);
    CHECK(too_big == NULL);
    omp_free(a, mine);
    void *b = omp_aligned_alloc(1024, 2048, mine);
    CHECK(b != NULL && (uintptr_t)b % 1024 == 0);
    omp_free(b, omp_null_allocator);
    /* What a block costs beyond its size counts: a pool does not hold two halves of its size. */
    void *first = omp_alloc(2048, mine), *second = omp_alloc(2048, mine);
    CHECK(first != NULL && second == NULL);
    omp_free(first, mine);
    unsigned char *c = (unsigned char *)omp_calloc(50, 4, omp_default_mem_alloc);
    int zero = 0;
    for (int i = 0; i < 200; i++)
        zero |= c[i];
    CHECK_EQ(zero, 0);
    c[199] = 9;
    c = (unsigned char *)omp_realloc(c, 5000, omp_default_mem_alloc, omp_default_mem_alloc);
    CHECK_EQ(c[199], 9);
    omp_free(c, omp_default_mem_alloc);
    omp_destroy_allocator(mine);
    omp_allocator_handle_t before = omp_get_default_allocator();
    omp_set_default_allocator(omp_large_cap_mem_alloc);
    CHECK(omp_get_default_allocator() == omp_large_cap_mem_alloc);
    omp_set_default_allocator(before);
    long sum = 0;
    int x = 3, array[100] = {5};
#pragma omp parallel firstprivate(x, array) allocate(omp_default_mem_alloc : x, array) reduction(+ : sum)
    {
        x += omp_get_thread_num();
        sum += x + array[0];
    }
    int n = omp_get_max_threads();
    CHECK_EQ(sum, 8L * n + n * (n - 1) / 2);
    return check_result();
}
