// what: depend(@FIRST@) before depend(@SECOND@): @RULE@, @SHAPE@
// languages: c, c++
// each: PAIR ; FIRST ; SECOND ; RULE ; ORDER ; GCC ; CLANG = in-in ; in ; in ; they may overlap ; 0 ; none ; none / in-out ; in ; out ; writers wait for readers ; 1 ; none ; none / in-inout ; in ; inout ; writers wait for readers ; 1 ; none ; none / out-in ; out ; in ; readers wait for writers ; 1 ; none ; none
// each: PAIR ; FIRST ; SECOND ; RULE ; ORDER ; GCC ; CLANG = out-out ; out ; out ; writers wait for writers ; 1 ; none ; none / inout-inout ; inout ; inout ; a chain ; 1 ; none ; none / inoutset-inoutset ; inoutset ; inoutset ; they may overlap ; 0 ; gcc<13 ; clang<19 / inoutset-in ; inoutset ; in ; readers wait for the set ; 1 ; gcc<13 ; clang<19
// each: PAIR ; FIRST ; SECOND ; RULE ; ORDER ; GCC ; CLANG = in-inoutset ; in ; inoutset ; the set waits for readers ; 1 ; gcc<13 ; clang<19 / out-inoutset ; out ; inoutset ; the set waits for the writer ; 1 ; gcc<13 ; clang<19 / mutexinoutset-mutexinoutset ; mutexinoutset ; mutexinoutset ; one at a time ; 2 ; none ; none / mutexinoutset-in ; mutexinoutset ; in ; readers wait for all ; 1 ; none ; none
// each: PAIR ; FIRST ; SECOND ; RULE ; ORDER ; GCC ; CLANG = out-mutexinoutset ; out ; mutexinoutset ; all wait for the writer ; 1 ; none ; none
// each: SHAPE ; WHAT = a scalar ; x / an element ; a[i] / a section ; a[2:3]
// skip: @GCC@ inoutset comes with later compilers
// skip: @CLANG@ inoutset comes with later compilers
#include "check.h"
int main(void)
{
    int x = 0, a[8] = {0}, i = 3, first = 0, inside = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int k = 0; k < 6; k++) {
#pragma omp task depend(@FIRST@ : @WHAT@) shared(first, inside, x, a)
            {
                CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL) == 0 || @ORDER@ != 2);
#pragma omp taskyield
                __atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
                __atomic_fetch_add(&first, 1, __ATOMIC_RELEASE);
            }
        }
        for (int k = 0; k < 6; k++) {
#pragma omp task depend(@SECOND@ : @WHAT@) shared(first, inside, x, a)
            {
                if (@ORDER@ == 1)
                    CHECK_EQ(__atomic_load_n(&first, __ATOMIC_ACQUIRE), 6);
                CHECK(__atomic_fetch_add(&inside, 1, __ATOMIC_ACQ_REL) == 0 || @ORDER@ != 2);
#pragma omp taskyield
                __atomic_fetch_sub(&inside, 1, __ATOMIC_ACQ_REL);
            }
        }
    }
    CHECK_EQ(first, 6);
    CHECK_EQ(inside + x + a[3] + i, 3);
    return check_result();
}
