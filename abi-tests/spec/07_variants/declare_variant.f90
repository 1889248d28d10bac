! what: declare variant in Fortran: in @WHERE@ the call goes to @WHOM@
! each: WHERE ; OPEN ; CLOSE ; WHOM ; WANT = sequential code ; continue ; continue ; the base ; 1 / a region ; !$omp parallel num_threads(2) ; !$omp end parallel ; the variant of parallel ; 2 / a task ; !$omp task if(.false.) ; !$omp end task ; the base ; 1
! compilers: gfortran
include 'check.inc'
program test
  use omp_lib
  use check
  implicit none
  @OPEN@
  call check_eq('where', place(), @WANT@)
  call check_eq('kind', kind_of(), 3)
  @CLOSE@
  call check_end()
contains
  integer function in_parallel()
    in_parallel = 2
  end function
  integer function on_host()
    on_host = 3
  end function
  integer function place()
    !$omp declare variant(in_parallel) match(construct={parallel})
    place = 1
  end function
  integer function kind_of()
    !$omp declare variant(on_host) match(device={kind(host)})
    kind_of = 1
  end function
end program
