// what: ordered(@DEPTH@) with sinks @SINKS@ under schedule(@SCHEDULE@) gives the sequential answer
// languages: c, c++
// each: NEST ; DEPTH ; LOOPS ; SINKS ; SOURCE ; WORK = chain ; 1 ; L(i, 1, 90) L1(j) ; depend(sink : i - 1) ; depend(source) ; a[i][0] = a[i - 1][0] * 3 + i / long chain ; 1 ; L(i, 4, 90) L1(j) ; depend(sink : i - 4) ; depend(source) ; a[i][0] = a[i - 4][0] * 3 + i / wavefront ; 2 ; L(i, 1, 20) L(j, 1, 12) ; depend(sink : i - 1, j) depend(sink : i, j - 1) ; depend(source) ; a[i][j] = a[i - 1][j] * 3 + a[i][j - 1] + i / diagonal ; 2 ; L(i, 1, 20) L(j, 1, 12) ; depend(sink : i - 1, j - 1) ; depend(source) ; a[i][j] += 5 * a[i - 1][j - 1]
// each: SCHEDULE = static / static, 1 / dynamic / guided
#include "check.h"
#define L(v, from, to) for (int v = from; v < to; v++)
#define L1(v) for (int v = 0; v < 1; v++)
static unsigned a[100][16], b[100][16];
static void alone(unsigned a[100][16])
{
    @LOOPS@ @WORK@;
}
int main(void)
{
    for (int i = 0; i < 1600; i++)
        a[i / 16][i % 16] = b[i / 16][i % 16] = (unsigned)i;
    alone(b);
#pragma omp parallel for ordered(@DEPTH@) schedule(@SCHEDULE@)
    @LOOPS@ {
#pragma omp ordered @SINKS@
        @WORK@;
#pragma omp ordered @SOURCE@
    }
    CHECK_EQ(memcmp(a, b, sizeof a), 0);
    CHECK(a[19][11] != 19 * 16 + 11 || a[19][0] != 19 * 16);
    return check_result();
}
