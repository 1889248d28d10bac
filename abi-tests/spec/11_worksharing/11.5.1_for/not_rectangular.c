// what: collapse(@DEPTH@) covers a nest that is no rectangle: @NEST@
// languages: c, c++
// each: NEST ; DEPTH ; LOOPS ; COUNT = triangle ; 2 ; L(i, 0, 12) L(j, 0, i) for (int k = 0; k < 1; k++) ; 66 / trapezium ; 2 ; L(i, 0, 10) L(j, 3, i + 6) for (int k = 0; k < 1; k++) ; 75 / tent ; 3 ; L(i, 0, 6) L(j, i, 7) L(k, 0, 3) ; 81
#include "check.h"
#define L(v, from, to) for (int v = from; v < to; v++)
int main(void)
{
    static int seen[100][100][5];
    int count = 0, twice = 0;
#pragma omp parallel for collapse(@DEPTH@) reduction(+ : count, twice)
    @LOOPS@ {
        count++;
        twice += __atomic_fetch_add(&seen[i][j][k], 1, __ATOMIC_RELAXED) != 0;
    }
    CHECK_EQ(count, @COUNT@);
    CHECK_EQ(twice, 0);
    return check_result();
}
