// what: cancel for under schedule(@SCHEDULE@) @WHO@, OMP_CANCELLATION=@ENV@: @RULE@
// languages: c, c++
// each: ENV ; ON ; RULE = true ; 1 ; the iterations after it are left out / false ; 0 ; nothing happens
// each: WHO ; COND ; LEFT = at iteration 0 ; i == 0 ; 1 / everywhere ; 1 ; 1 / nowhere ; i < 0 ; 0
// each: SCHEDULE = static / dynamic / guided, 2
// env: OMP_CANCELLATION=@ENV@
#include "check.h"
int main(void)
{
    int before = 0, after = 0, later = 0, n = omp_get_max_threads();
    CHECK_EQ(omp_get_cancellation(), @ON@);
#pragma omp parallel shared(before, after, later)
    {
#pragma omp for schedule(@SCHEDULE@)
        for (int i = 0; i < 400; i++) {
            __atomic_fetch_add(&before, 1, __ATOMIC_RELAXED);
#pragma omp cancel for if(@COND@)
            __atomic_fetch_add(&after, 1, __ATOMIC_RELAXED);
#pragma omp cancellation point for
        }
        __atomic_fetch_add(&later, 1, __ATOMIC_RELAXED);
    }
    if (@ON@ && @LEFT@)
        CHECK(after < before);
    else
        CHECK_EQ(after * 1000 + before, 400400);
    CHECK_EQ(later, n);
    return check_result();
}
