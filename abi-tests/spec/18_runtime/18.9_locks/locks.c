// what: @KIND@ lock by @INIT@ excludes, @HOW@
// languages: c, c++
// each: KIND ; T = simple ; lock / nestable ; nest_lock
// each: INIT ; CALL ; WHOSE = init ; omp_init_@T@(&lock) ; none / uncontended ; omp_init_@T@_with_hint(&lock, omp_sync_hint_uncontended) ; gcc / contended ; omp_init_@T@_with_hint(&lock, omp_sync_hint_contended) ; gcc / speculative ; omp_init_@T@_with_hint(&lock, (omp_sync_hint_t)(omp_sync_hint_speculative | omp_sync_hint_uncontended)) ; gcc
// each: HOW ; TAKE = set ; omp_set_@T@(&lock) / test ; while (!omp_test_@T@(&lock)) sched_yield()
// skip: @WHOSE@ its library has the routine in the header only
#include "check.h"
#include <sched.h>
int main(void)
{
    omp_@T@_t lock;
    int n = omp_get_max_threads(), total = 0, nest = *"@T@" == 'n';
    for (int round = 1; round <= 2; round++) {
        @CALL@;
#pragma omp parallel shared(lock, total)
        for (int i = 0; i < 30; i++) {
            @TAKE@;
            if (nest)
                CHECK_EQ(omp_test_nest_lock((omp_nest_lock_t *)&lock), 2);
            else
                CHECK_EQ(omp_test_lock((omp_lock_t *)&lock), 0);
            total++;
            omp_unset_@T@(&lock);
            if (nest)
                omp_unset_@T@(&lock);
        }
        omp_destroy_@T@(&lock);
        CHECK_EQ(total, 30 * n * round);
    }
    return check_result();
}
