// what: critical @FIRST@ and critical @SECOND@: @RULE@
// languages: c, c++
// each: PAIR ; FIRST ; SECOND ; SAME ; RULE = both unnamed ; ; ; 1 ; exclude each other / one name ; (a) ; (a) ; 1 ; exclude each other / a name and none ; (a) ; ; 0 ; are apart / two names ; (a) ; (b) ; 0 ; are apart
// each: HINT = uncontended / contended / speculative
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), total = 0, other = 0, inside = 0;
#pragma omp parallel
    for (int i = 0; i < 50; i++) {
#pragma omp critical @FIRST@
        {
            CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) == 1 || !@SAME@);
            total++;
            if (!@SAME@) {
#pragma omp critical (third) hint(omp_sync_hint_@HINT@)
                other++;
            }
            __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
        }
#pragma omp critical @SECOND@
        {
            CHECK(__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) == 1 || !@SAME@);
            if (@SAME@)
                total++;
            else {
#pragma omp critical (third) hint(omp_sync_hint_@HINT@)
                other++;
            }
            __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
        }
    }
    CHECK_EQ(total, @SAME@ ? 100 * n : 50 * n);
    CHECK_EQ(other, @SAME@ ? 0 : 100 * n);
    return check_result();
}
