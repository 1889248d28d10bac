! Prints what the compiler sees of omp_lib: `name value` per line.
program layout
  use omp_lib
  implicit none
  type(omp_alloctrait) :: trait
  print '(a,1x,i0)', 'kind.omp_lock_kind', omp_lock_kind
  print '(a,1x,i0)', 'kind.omp_nest_lock_kind', omp_nest_lock_kind
  print '(a,1x,i0)', 'kind.omp_depend_kind', omp_depend_kind
  print '(a,1x,i0)', 'kind.omp_event_handle_kind', omp_event_handle_kind
  print '(a,1x,i0)', 'kind.omp_allocator_handle_kind', omp_allocator_handle_kind
  print '(a,1x,i0)', 'kind.omp_memspace_handle_kind', omp_memspace_handle_kind
  print '(a,1x,i0)', 'kind.omp_sched_kind', omp_sched_kind
  print '(a,1x,i0)', 'kind.omp_proc_bind_kind', omp_proc_bind_kind
  print '(a,1x,i0)', 'kind.omp_sync_hint_kind', omp_sync_hint_kind
  print '(a,1x,i0)', 'kind.omp_pause_resource_kind', omp_pause_resource_kind
  print '(a,1x,i0)', 'kind.omp_alloctrait_key_kind', omp_alloctrait_key_kind
  print '(a,1x,i0)', 'kind.omp_alloctrait_val_kind', omp_alloctrait_val_kind
  print '(a,1x,i0)', 'bits.omp_alloctrait', storage_size(trait)
  print '(a,1x,i0)', 'omp_null_allocator', int(omp_null_allocator, 8)
  print '(a,1x,i0)', 'omp_default_mem_alloc', int(omp_default_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_large_cap_mem_alloc', int(omp_large_cap_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_const_mem_alloc', int(omp_const_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_high_bw_mem_alloc', int(omp_high_bw_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_low_lat_mem_alloc', int(omp_low_lat_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_cgroup_mem_alloc', int(omp_cgroup_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_pteam_mem_alloc', int(omp_pteam_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_thread_mem_alloc', int(omp_thread_mem_alloc, 8)
  print '(a,1x,i0)', 'omp_default_mem_space', int(omp_default_mem_space, 8)
  print '(a,1x,i0)', 'omp_large_cap_mem_space', int(omp_large_cap_mem_space, 8)
  print '(a,1x,i0)', 'omp_const_mem_space', int(omp_const_mem_space, 8)
  print '(a,1x,i0)', 'omp_high_bw_mem_space', int(omp_high_bw_mem_space, 8)
  print '(a,1x,i0)', 'omp_low_lat_mem_space', int(omp_low_lat_mem_space, 8)
  print '(a,1x,i0)', 'omp_atk_sync_hint', int(omp_atk_sync_hint, 8)
  print '(a,1x,i0)', 'omp_atk_alignment', int(omp_atk_alignment, 8)
  print '(a,1x,i0)', 'omp_atk_access', int(omp_atk_access, 8)
  print '(a,1x,i0)', 'omp_atk_pool_size', int(omp_atk_pool_size, 8)
  print '(a,1x,i0)', 'omp_atk_fallback', int(omp_atk_fallback, 8)
  print '(a,1x,i0)', 'omp_atk_fb_data', int(omp_atk_fb_data, 8)
  print '(a,1x,i0)', 'omp_atk_pinned', int(omp_atk_pinned, 8)
  print '(a,1x,i0)', 'omp_atk_partition', int(omp_atk_partition, 8)
  print '(a,1x,i0)', 'omp_atv_false', int(omp_atv_false, 8)
  print '(a,1x,i0)', 'omp_atv_true', int(omp_atv_true, 8)
  print '(a,1x,i0)', 'omp_atv_contended', int(omp_atv_contended, 8)
  print '(a,1x,i0)', 'omp_atv_uncontended', int(omp_atv_uncontended, 8)
  print '(a,1x,i0)', 'omp_atv_serialized', int(omp_atv_serialized, 8)
  print '(a,1x,i0)', 'omp_atv_sequential', int(omp_atv_sequential, 8)
  print '(a,1x,i0)', 'omp_atv_private', int(omp_atv_private, 8)
  print '(a,1x,i0)', 'omp_atv_all', int(omp_atv_all, 8)
  print '(a,1x,i0)', 'omp_atv_thread', int(omp_atv_thread, 8)
  print '(a,1x,i0)', 'omp_atv_pteam', int(omp_atv_pteam, 8)
  print '(a,1x,i0)', 'omp_atv_cgroup', int(omp_atv_cgroup, 8)
  print '(a,1x,i0)', 'omp_atv_default_mem_fb', int(omp_atv_default_mem_fb, 8)
  print '(a,1x,i0)', 'omp_atv_null_fb', int(omp_atv_null_fb, 8)
  print '(a,1x,i0)', 'omp_atv_abort_fb', int(omp_atv_abort_fb, 8)
  print '(a,1x,i0)', 'omp_atv_allocator_fb', int(omp_atv_allocator_fb, 8)
  print '(a,1x,i0)', 'omp_atv_environment', int(omp_atv_environment, 8)
  print '(a,1x,i0)', 'omp_atv_nearest', int(omp_atv_nearest, 8)
  print '(a,1x,i0)', 'omp_atv_blocked', int(omp_atv_blocked, 8)
  print '(a,1x,i0)', 'omp_atv_interleaved', int(omp_atv_interleaved, 8)
  print '(a,1x,i0)', 'omp_atv_default', int(omp_atv_default, 8)
  print '(a,1x,i0)', 'omp_sched_static', int(omp_sched_static, 8)
  print '(a,1x,i0)', 'omp_sched_dynamic', int(omp_sched_dynamic, 8)
  print '(a,1x,i0)', 'omp_sched_guided', int(omp_sched_guided, 8)
  print '(a,1x,i0)', 'omp_sched_auto', int(omp_sched_auto, 8)
  print '(a,1x,i0)', 'omp_proc_bind_false', int(omp_proc_bind_false, 8)
  print '(a,1x,i0)', 'omp_proc_bind_true', int(omp_proc_bind_true, 8)
  print '(a,1x,i0)', 'omp_proc_bind_master', int(omp_proc_bind_master, 8)
  print '(a,1x,i0)', 'omp_proc_bind_close', int(omp_proc_bind_close, 8)
  print '(a,1x,i0)', 'omp_proc_bind_spread', int(omp_proc_bind_spread, 8)
  print '(a,1x,i0)', 'omp_sync_hint_none', int(omp_sync_hint_none, 8)
  print '(a,1x,i0)', 'omp_sync_hint_uncontended', int(omp_sync_hint_uncontended, 8)
  print '(a,1x,i0)', 'omp_sync_hint_contended', int(omp_sync_hint_contended, 8)
  print '(a,1x,i0)', 'omp_sync_hint_nonspeculative', int(omp_sync_hint_nonspeculative, 8)
  print '(a,1x,i0)', 'omp_sync_hint_speculative', int(omp_sync_hint_speculative, 8)
  print '(a,1x,i0)', 'omp_pause_soft', int(omp_pause_soft, 8)
  print '(a,1x,i0)', 'omp_pause_hard', int(omp_pause_hard, 8)
end program
