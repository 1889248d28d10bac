// what: cancel @WHAT@ @WHO@, OMP_CANCELLATION=@ENV@: @RULE@
// languages: c, c++
// each: ENV ; ON ; RULE = true ; 1 ; what follows is left out / false ; 0 ; nothing happens
// each: WHO ; COND ; ALL = by one thread ; id == 0 ; 0 / by all ; 1 ; 1 / by none ; 0 ; -1
// each: WHAT = parallel / sections
// env: OMP_CANCELLATION=@ENV@
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), past = 0, ends = 0, sections = *"@WHAT@" == 's';
#pragma omp parallel shared(past, ends)
    {
        int id = omp_get_thread_num();
        if (sections) {
            id = 0;
#pragma omp sections
            {
                {
#pragma omp cancel sections if(@COND@)
                    __atomic_fetch_add(&past, 1, __ATOMIC_RELAXED);
                }
            }
        } else {
#pragma omp cancel parallel if(@COND@)
#pragma omp cancellation point parallel
            __atomic_fetch_add(&past, 1, __ATOMIC_RELAXED);
#pragma omp barrier
        }
        __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
    }
    int all = sections ? 1 : n, cancelled = @ON@ && @ALL@ >= 0;
    if (sections) {
        CHECK_EQ(past, !cancelled);
        CHECK_EQ(ends, n);
    } else if (cancelled) {
        CHECK(past < all);
        CHECK_EQ(ends, 0);
    } else {
        CHECK_EQ(past + ends, 2 * n);
    }
    return check_result();
}
