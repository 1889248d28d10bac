// what: @COUNT@ sections@CLAUSE@, @ROUNDS@ times: each runs once a time
// languages: c, c++
// each: COUNT ; LIST = 1 ; S(0) / 2 ; S(0) S(1) / 3 ; S(0) S(1) S(2) / 13 ; S(0) S(1) S(2) S(3) S(4) S(5) S(6) S(7) S(8) S(9) S(10) S(11) S(12)
// each: CLAUSE ; SUM = ; 0 / nowait ; 0 / reduction(+ : sum) ; 1 / firstprivate(zero) ; 0
// each: ROUNDS = 1 / 20
#include "check.h"
#define S(k) _Pragma("omp section") { __atomic_fetch_add(&seen[k], 1, __ATOMIC_RELAXED); sum += @SUM@ * (k + 1); }
int main(void)
{
    int seen[16] = {0}, sum = 0, zero = 0;
#pragma omp parallel
    for (int round = 0; round < @ROUNDS@; round++) {
#pragma omp sections @CLAUSE@
        {
            @LIST@
        }
    }
    for (int i = 0; i < 16; i++)
        CHECK_EQ(seen[i], i < @COUNT@ ? @ROUNDS@ : 0);
    CHECK_EQ(sum, @SUM@ * @ROUNDS@ * @COUNT@ * (@COUNT@ + 1) / 2 + zero);
    return check_result();
}
