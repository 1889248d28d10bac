// what: interop @ACTION@ without a device
// languages: c, c++
// each: ACTION ; FIRST ; SECOND = init and destroy ; init(targetsync : object) ; destroy(object) / init and use ; init(target : object) ; use(object)
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(1)")
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// mode: link
// ours: what clang makes of it is in libomptarget, which is not linked
#include "check.h"
int main(void)
{
    @OPEN@
    {
        omp_interop_t object = omp_interop_none;
        int code = omp_irc_success;
#pragma omp interop @FIRST@
#pragma omp interop @SECOND@
        (void)omp_get_interop_int(object, omp_ipr_fr_id, &code);
        CHECK(code != omp_irc_success || object != omp_interop_none);
    }
    return check_result();
}
