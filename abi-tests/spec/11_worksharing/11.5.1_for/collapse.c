// what: collapse(@DEPTH@) under schedule(@SCHEDULE@) covers the nest: @NEST@
// languages: c, c++
// each: NEST ; DEPTH ; LOOPS ; COUNT = square ; 2 ; L(i, 0, 10) L(j, 0, 10) for (int k = 0; k < 1; k++) ; 100 / cube ; 3 ; L(i, 0, 5) L(j, 2, 6) L(k, 0, 4) ; 80 / empty inner ; 2 ; L(i, 0, 10) L(j, 5, 5) for (int k = 0; k < 1; k++) ; 0 / long thin ; 2 ; L(i, 0, 1) L(j, 0, 99) for (int k = 0; k < 1; k++) ; 99
// each: SCHEDULE = static / static, 3 / dynamic, 2 / guided
#include "check.h"
#define L(v, from, to) for (int v = from; v < to; v++)
int main(void)
{
    static int seen[100][100][5];
    int count = 0, twice = 0;
#pragma omp parallel for collapse(@DEPTH@) schedule(@SCHEDULE@) reduction(+ : count, twice)
    @LOOPS@ {
        count++;
        twice += __atomic_fetch_add(&seen[i][j][k], 1, __ATOMIC_RELAXED) != 0;
    }
    CHECK_EQ(count, @COUNT@);
    CHECK_EQ(twice, 0);
    return check_result();
}
