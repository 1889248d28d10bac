! what: @SPACE@ memory of @SIZE@ bytes in Fortran: omp_alloc, zeroed, aligned, grown
! each: SPACE = default / large_cap / const / high_bw / low_lat / cgroup / pteam / thread
! each: SIZE = 64 / 100000
! skip: flang its module does not have the routines
include 'check.inc'
program test
  use iso_c_binding
  use omp_lib
  use check
  implicit none
  type(c_ptr) :: plain, zeroed, aligned, grown
  integer(1), pointer :: bytes(:), zeros(:)
  integer(c_size_t), parameter :: size = @SIZE@
  integer(omp_allocator_handle_kind), parameter :: kind = omp_@SPACE@_mem_alloc
  plain = omp_alloc(size, kind)
  zeroed = omp_calloc(size, 1_c_size_t, kind)
  aligned = omp_aligned_alloc(256_c_size_t, 256 * ((size + 255) / 256), kind)
  call check_true('there', c_associated(plain) .and. c_associated(zeroed) .and. c_associated(aligned))
  call check_eq('aligned', mod(transfer(aligned, 0_c_intptr_t), 256_c_intptr_t), 0_8)
  call c_f_pointer(zeroed, zeros, [size])
  call check_true('zeroed', all(zeros == 0))
  call c_f_pointer(plain, bytes, [size])
  bytes = 7
  grown = omp_realloc(plain, 2 * size, kind, kind)
  call c_f_pointer(grown, bytes, [size])
  call check_true('kept', all(bytes == 7))
  call omp_free(grown, kind)
  call omp_free(zeroed, omp_null_allocator)
  call omp_free(aligned, kind)
  call omp_free(c_null_ptr, kind)
  call check_end()
end program
