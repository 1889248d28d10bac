! what: @ICV@ in Fortran: a task changes its own copy; children inherit it, the encountering task does not see it
! each: ICV ; SET ; GET ; OUTER ; INNER = nthreads ; omp_set_num_threads(int(v, @KIND@)) ; omp_get_max_threads() ; 5 ; 7 / dyn ; omp_set_dynamic(v == 2) ; 1 + merge(1, 0, omp_get_dynamic()) ; 1 ; 2 / run-sched ; omp_set_schedule(omp_sched_dynamic, int(v, @KIND@)) ; chunk() ; 5 ; 9 / default-device ; omp_set_default_device(int(v - 1, @KIND@)) ; 1 + omp_get_default_device() ; 1 ; 2
! each: WHERE ; OPEN ; CLOSE = a region ; parallel num_threads(3) ; end parallel / a nested region ; parallel num_threads(1) ; end parallel
! each: KIND ; SKIP = 4 ; none / 8 ; flang
! skip: @SKIP@ its module has the routines for default integers only
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  integer :: below
  call set(@OUTER@)
  call check_eq('outer', get(), @OUTER@)
  !$omp @OPEN@ private(below)
  call check_eq('inherited', get(), @OUTER@)
  call set(@INNER@)
  call check_eq('own', get(), @INNER@)
  !$omp task shared(below)
  below = get()
  !$omp end task
  !$omp taskwait
  call check_eq('below', below, @INNER@)
  !$omp parallel num_threads(2)
  call check_eq('nested', get(), @INNER@)
  !$omp end parallel
  !$omp @CLOSE@
  call check_eq('behind it', get(), @OUTER@)
  call check_end()
contains
  subroutine set(v)
    integer, intent(in) :: v
    call @SET@
  end subroutine
  integer function get()
    get = @GET@
  end function
  integer function chunk()
    integer(omp_sched_kind) :: kind
    call omp_get_schedule(kind, chunk)
    if (kind /= omp_sched_dynamic) chunk = -1
  end function
end program
