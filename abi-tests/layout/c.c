/* Prints what the compiler sees of omp.h: `name value` per line. */
#include <omp.h>
#include <stddef.h>
#include <stdio.h>
#define TYPE(t) printf("sizeof.%s %zu\nalignof.%s %zu\n", #t, sizeof(t), #t, _Alignof(t))
#define ENUM(e) printf("%s %lld\n", #e, (long long)(e))
int main(void)
{
    TYPE(omp_lock_t);
    TYPE(omp_nest_lock_t);
    TYPE(omp_depend_t);
    TYPE(omp_event_handle_t);
    TYPE(omp_allocator_handle_t);
    TYPE(omp_memspace_handle_t);
    TYPE(omp_alloctrait_t);
    TYPE(omp_sched_t);
    TYPE(omp_proc_bind_t);
    TYPE(omp_lock_hint_t);
    TYPE(omp_pause_resource_t);
    printf("offsetof.omp_alloctrait_t.key %zu\n", offsetof(omp_alloctrait_t, key));
    printf("offsetof.omp_alloctrait_t.value %zu\n", offsetof(omp_alloctrait_t, value));
    ENUM(omp_null_allocator);
    ENUM(omp_default_mem_alloc);
    ENUM(omp_large_cap_mem_alloc);
    ENUM(omp_const_mem_alloc);
    ENUM(omp_high_bw_mem_alloc);
    ENUM(omp_low_lat_mem_alloc);
    ENUM(omp_cgroup_mem_alloc);
    ENUM(omp_pteam_mem_alloc);
    ENUM(omp_thread_mem_alloc);
    ENUM(omp_default_mem_space);
    ENUM(omp_large_cap_mem_space);
    ENUM(omp_const_mem_space);
    ENUM(omp_high_bw_mem_space);
    ENUM(omp_low_lat_mem_space);
    ENUM(omp_atk_sync_hint);
    ENUM(omp_atk_alignment);
    ENUM(omp_atk_access);
    ENUM(omp_atk_pool_size);
    ENUM(omp_atk_fallback);
    ENUM(omp_atk_fb_data);
    ENUM(omp_atk_pinned);
    ENUM(omp_atk_partition);
    ENUM(omp_atv_false);
    ENUM(omp_atv_true);
    ENUM(omp_atv_contended);
    ENUM(omp_atv_uncontended);
    ENUM(omp_atv_serialized);
    ENUM(omp_atv_sequential);
    ENUM(omp_atv_private);
    ENUM(omp_atv_all);
    ENUM(omp_atv_thread);
    ENUM(omp_atv_pteam);
    ENUM(omp_atv_cgroup);
    ENUM(omp_atv_default_mem_fb);
    ENUM(omp_atv_null_fb);
    ENUM(omp_atv_abort_fb);
    ENUM(omp_atv_allocator_fb);
    ENUM(omp_atv_environment);
    ENUM(omp_atv_nearest);
    ENUM(omp_atv_blocked);
    ENUM(omp_atv_interleaved);
    printf("omp_atv_default %lld\n", (long long)(int)(omp_atv_default));
    ENUM(omp_sched_static);
    ENUM(omp_sched_dynamic);
    ENUM(omp_sched_guided);
    ENUM(omp_sched_auto);
    printf("omp_sched_monotonic %lld\n", (long long)(unsigned)(omp_sched_monotonic));
    ENUM(omp_proc_bind_false);
    ENUM(omp_proc_bind_true);
    ENUM(omp_proc_bind_master);
    ENUM(omp_proc_bind_close);
    ENUM(omp_proc_bind_spread);
    ENUM(omp_sync_hint_none);
    ENUM(omp_sync_hint_uncontended);
    ENUM(omp_sync_hint_contended);
    ENUM(omp_sync_hint_nonspeculative);
    ENUM(omp_sync_hint_speculative);
    ENUM(omp_pause_soft);
    ENUM(omp_pause_hard);
#ifdef __clang__
    ENUM(kmp_lock_hint_hle);
    ENUM(kmp_lock_hint_rtm);
    ENUM(kmp_lock_hint_adaptive);
#endif
    return 0;
}
