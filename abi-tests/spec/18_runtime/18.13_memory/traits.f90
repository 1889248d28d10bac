! what: an allocator of the @SPACE@ space with @KEY@ = @VALUE@ in Fortran gives memory; its default is set and asked for
! each: SPACE = default / large_cap / const / low_lat
! each: SETTING ; KEY ; VALUE = contended ; sync_hint ; contended / private ; sync_hint ; private / thread ; access ; thread / cgroup ; access ; cgroup / not pinned ; pinned ; false / nearest ; partition ; nearest / null ; fallback ; null_fb
! each: KIND = 4 / 8
! skip: flang its module does not have all of it
include 'check.inc'
program test
  use iso_c_binding
  use omp_lib
  use check
  implicit none
  type(omp_alloctrait) :: traits(2)
  integer(omp_allocator_handle_kind) :: allocator
  integer(@KIND@) :: count
  type(c_ptr) :: p, q
  count = 2
  traits = [omp_alloctrait(omp_atk_@KEY@, omp_atv_@VALUE@), omp_alloctrait(omp_atk_alignment, 128)]
  allocator = omp_init_allocator(omp_@SPACE@_mem_space, count, traits)
  call check_true('made', allocator /= omp_null_allocator)
  p = omp_alloc(1000_c_size_t, allocator)
  call check_true('memory', c_associated(p))
  call check_eq('aligned', mod(transfer(p, 0_c_intptr_t), 128_c_intptr_t), 0_8)
  call omp_set_default_allocator(allocator)
  call check_true('default', omp_get_default_allocator() == allocator)
  q = omp_alloc(1000_c_size_t, omp_null_allocator)
  call check_eq('aligned', mod(transfer(q, 0_c_intptr_t), 128_c_intptr_t), 0_8)
  call omp_set_default_allocator(omp_default_mem_alloc)
  call omp_free(p, allocator)
  call omp_free(q, allocator)
  call omp_destroy_allocator(allocator)
  call check_end()
end program
