! what: device numbers in Fortran: default-device-var @CASE@, @WHERE@
! each: CASE ; SET ; WANT = as it is ; continue ; 0 / set to the host ; call omp_set_default_device(omp_get_initial_device()) ; omp_get_initial_device() / set to another ; call omp_set_default_device(3) ; 3
! each: WHERE ; OPEN ; CLOSE = outside ; continue ; continue / in a region ; !$omp parallel num_threads(3) ; !$omp end parallel / in a task ; !$omp task if(.false.) ; !$omp end task
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @SET@
  @OPEN@
  call check_eq('default', omp_get_default_device(), @WANT@)
  call check_eq('devices', omp_get_num_devices(), 0)
  call check_eq('host', omp_get_initial_device(), omp_get_num_devices())
  call check_eq('here', omp_get_device_num(), omp_get_initial_device())
  call check_true('initial', omp_is_initial_device())
  call check_true('processors', omp_get_num_procs() >= 1)
  @CLOSE@
  call check_end()
end program
