// what: what was stored before @BARRIER@ is seen after it by all, @ROUNDS@ times
// languages: c, c++
// each: BARRIER ; PRAGMA ; BODY = an explicit barrier ; omp barrier ; / the end of a loop ; omp for ; for (int k = 0; k < 3; k++) { } / the end of single ; omp single ; { } / the end of a dynamic loop ; omp for schedule(dynamic) ; for (int k = 0; k < 3; k++) { }
// each: ROUNDS = 1 / 60
#include "check.h"
int main(void)
{
    static int stored[64][16];
    int n = omp_get_max_threads();
#pragma omp parallel
    for (int round = 1; round <= @ROUNDS@; round++) {
        int id = omp_get_thread_num();
        stored[id][0] = round * 100 + id;
#pragma @PRAGMA@
        @BODY@
        for (int i = 0; i < n; i++)
            CHECK_EQ(stored[i][0], round * 100 + i);
#pragma omp barrier
    }
    return check_result();
}
