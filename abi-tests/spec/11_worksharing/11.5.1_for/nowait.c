// what: @COUNT@ loops in a row under schedule(@SCHEDULE@)@CLAUSE@ stay apart
// languages: c, c++
// each: SCHEDULE = static, 2 / dynamic / guided / runtime
// each: CLAUSE = / nowait / nowait ordered
// each: COUNT = 2 / 30
#include "check.h"
int main(void)
{
    static int seen[30][40];
#pragma omp parallel
    for (int loop = 0; loop < @COUNT@; loop++) {
#pragma omp for schedule(@SCHEDULE@) @CLAUSE@
        for (int i = 0; i < 40 - loop; i++)
            __atomic_fetch_add(&seen[loop][i], 1, __ATOMIC_RELAXED);
    }
    for (int loop = 0; loop < 30; loop++)
        for (int i = 0; i < 40; i++)
            CHECK_EQ(seen[loop][i], loop < @COUNT@ && i < 40 - loop);
    return check_result();
}
