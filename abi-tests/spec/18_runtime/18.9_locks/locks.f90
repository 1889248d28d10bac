! what: a @KIND@ lock in Fortran made by @INIT@ excludes, taken by @HOW@
! each: KIND ; T ; NEST ; TEST = simple ; lock ; .false. ; omp_test_lock(lock) / nestable ; nest_lock ; .true. ; omp_test_nest_lock(lock) > 0
! each: INIT ; CALL ; MODES ; PEER = init ; omp_init_@T@(lock) ; preload,symlink,link ; none / uncontended ; omp_init_@T@_with_hint(lock, omp_sync_hint_uncontended) ; link ; libgomp / contended ; omp_init_@T@_with_hint(lock, omp_sync_hint_contended) ; link ; libgomp / speculative ; omp_init_@T@_with_hint(lock, omp_sync_hint_speculative) ; link ; libgomp
! each: HOW ; WAIT = set ; .false. / test ; .true.
! mode: @MODES@
! peers: @PEER@ fails, because it has the routine in its module only
! skip: flang its module lacks some of the hints
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_@T@_kind) :: lock
  integer :: i, round, total, n, inside
  n = omp_get_max_threads()
  total = 0
  inside = 0
  do round = 1, 2
    call @CALL@
    !$omp parallel private(i) shared(lock, total, inside)
    do i = 1, 30
      if (@WAIT@) then
        do while (.not. taken())
          !$omp taskyield
        end do
      else
        call omp_set_@T@(lock)
      end if
      inside = inside + 1
      call check_eq('alone', inside, 1)
      call check_eq('again', taken(), @NEST@)
      if (@NEST@) call omp_unset_@T@(lock)
      total = total + 1
      inside = inside - 1
      call omp_unset_@T@(lock)
    end do
    !$omp end parallel
    call omp_destroy_@T@(lock)
    call check_eq('total', total, 30 * n * round)
  end do
  call check_end()
contains
  logical function taken()
    taken = @TEST@
  end function
end program
