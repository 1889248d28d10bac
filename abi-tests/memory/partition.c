// what: allocators with the trait partition give memory whose pages have the policy that was asked for; small and moved blocks keep their contents
// threads: 1,4
// ours: other runtimes take the trait and leave the pages where they are
#define _GNU_SOURCE
#include "check.h"
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
enum { PAGES = 33, PAGE = 4096, F_ADDR = 2, DEFAULT = 0, PREFERRED = 1, INTERLEAVE = 3 };

/* The memory policy of the page at p, -1 where the system does not tell. */
static int policy(void *p)
{
    unsigned long nodes[16] = {0};
    int mode = -1;
    return syscall(SYS_get_mempolicy, &mode, nodes, sizeof nodes * 8, p, F_ADDR) == 0 ? mode : -1;
}

static void check_block(char *block, int expected)
{
    CHECK(block != NULL);
    int told = policy(block);
    for (int page = 0; page < PAGES - 1 && told >= 0; ++page)
        CHECK_EQ(policy(block + page * PAGE), expected);
    memset(block, 7, PAGES * PAGE);
}

int main(void)
{
    static const struct {
        uintptr_t partition;
        int mode;
    } cases[] = {{omp_atv_environment, DEFAULT},
                 {omp_atv_nearest, PREFERRED},
                 {omp_atv_blocked, PREFERRED},
                 {omp_atv_interleaved, INTERLEAVE}};
    static const uintptr_t access[] = {omp_atv_all, omp_atv_cgroup, omp_atv_pteam, omp_atv_thread};
    static const uintptr_t hint[] = {omp_atv_contended, omp_atv_uncontended, omp_atv_serialized,
                                     omp_atv_private};
    omp_memspace_handle_t space[] = {omp_default_mem_space, omp_large_cap_mem_space, omp_const_mem_space,
                                     omp_high_bw_mem_space, omp_low_lat_mem_space};
    for (int i = 0; i < 20; ++i) {
        omp_alloctrait_t traits[] = {{omp_atk_partition, cases[i % 4].partition},
                                     {omp_atk_access, access[i / 4 % 4]},
                                     {omp_atk_sync_hint, hint[i / 5 % 4]}};
        omp_allocator_handle_t made = omp_init_allocator(space[i % 5], 3, traits);
        CHECK(made != omp_null_allocator);
#pragma omp parallel
        {
            char *block = omp_alloc(PAGES * PAGE, made);
            if (i % 5 == 0)
                check_block(block, cases[i % 4].mode);
            char *small = omp_alloc(100, made);
            CHECK(small != NULL);
            memset(small, 9, 100);
            omp_free(small, made);
            omp_free(block, made);
        }
        omp_destroy_allocator(made);
    }
    return check_result();
}
