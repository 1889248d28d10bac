! what: task detach in Fortran completes when its event is fulfilled, @WHO@; @JOIN@ waits for it
! each: WHO ; EARLY = by itself ; .true. / by a sibling ; .false.
! each: JOIN ; OPEN ; CLOSE = taskwait ; continue ; !$omp taskwait / taskgroup ; !$omp taskgroup ; !$omp end taskgroup
! skip: flang it cannot lower the clause yet
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer(omp_event_handle_kind) :: event
  integer :: done, fulfilled
  done = 0
  fulfilled = 0
  !$omp parallel shared(done, fulfilled) private(event)
  !$omp single
  @OPEN@
  !$omp task detach(event) shared(done, fulfilled)
  done = 1
  if (@EARLY@) then
    !$omp atomic write
    fulfilled = 1
    call omp_fulfill_event(event)
  end if
  !$omp end task
  if (.not. @EARLY@) then
    !$omp task firstprivate(event) shared(fulfilled)
    !$omp atomic write
    fulfilled = 1
    call omp_fulfill_event(event)
    !$omp end task
  end if
  @CLOSE@
  call check_eq('ran', done, 1)
  call check_eq('fulfilled first', fulfilled, 1)
  !$omp end single
  !$omp end parallel
  call check_end()
end program
