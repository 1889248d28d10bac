// what: @CLAUSE@ of @TYPE@ on @CONSTRUCT@: a thread's stores stay its own@NOTE@
// languages: c, c++
// each: CONSTRUCT ; OPEN ; INNER = parallel ; omp parallel @CLAUSE@(v) shared(runs) ; omp critical / single ; omp parallel ; omp single @CLAUSE@(v) / task ; omp parallel ; omp task @CLAUSE@(v) shared(runs) / masked ; omp parallel @CLAUSE@(v) shared(runs) ; omp master
// each: CLAUSE ; LOOK ; NOTE = private ; 0 ;  / firstprivate ; 1 ; , which start with the old value
// each: TYPE ; DECLARE ; GET ; SET = int ; int v = 77 ; v ; v = x / struct ; struct { char c[3]; int last; } v = {"ab", 77} ; v.last ; v.last = x / array ; int v[40]; v[39] = 77 ; v[39] ; v[39] = x / long double ; long double v = 77 ; (int)v ; v = x
#include "check.h"
int main(void)
{
    @DECLARE@;
    int runs = 0;
#pragma @OPEN@
    {
#pragma @INNER@
        {
            int x = omp_get_thread_num() * 10;
            if (@LOOK@)
                CHECK_EQ(@GET@, 77);
            @SET@;
#pragma omp taskyield
            CHECK_EQ(@GET@, x);
#pragma omp atomic
            runs++;
        }
    }
    CHECK_EQ(@GET@, 77);
    CHECK(runs >= 1 && runs <= omp_get_max_threads());
    return check_result();
}
