// what: @CONSTRUCT@: @RULE@
// languages: c, c++
// each: CONSTRUCT ; RULE ; WANT ; SKIP = parallel master ; one thread runs it ; 1 ; none / parallel masked ; one thread runs it ; 1 ; clang<19 / parallel masked filter(1) ; the thread it names runs it ; 1 ; clang<19 / target parallel num_threads(3) map(tofrom : runs) ; three threads run it ; 3 ; none / target teams num_teams(1) map(tofrom : runs) ; a team runs it ; 1 ; none / parallel sections num_threads(3) ; its only section runs once ; 1 ; none
// each: TIMES = 1 / 5
// skip: @SKIP@ it comes with later compilers
#include "check.h"
static int runs;
int main(void)
{
    omp_set_dynamic(0);
    omp_set_num_threads(3);
    for (int round = 1; round <= @TIMES@; round++) {
#pragma omp @CONSTRUCT@
        {
            __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
        }
        CHECK_EQ(runs, round * @WANT@);
    }
    return check_result();
}
