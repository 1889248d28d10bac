// what: scope @CLAUSES@: every thread runs it once
// languages: c, c++
// each: CLAUSES ; AFTER ; TOTAL = ; CHECK_EQ(LOAD(runs), round * n) ; 0 / nowait ; CHECK(LOAD(runs) >= round) ; 0 / private(mine) ; CHECK_EQ(mine, 7) ; 0 / reduction(+ : sum) ; CHECK_EQ(sum, round * n) ; 4 * n / nowait reduction(+ : sum) ; CHECK(LOAD(runs) >= round) ; 4 * n
// skip: clang it parses scope and compiles none
#include "check.h"
#include "spin.h"
int main(void)
{
    int n = omp_get_max_threads(), runs = 0, sum = 0;
#pragma omp parallel
    {
        int mine = 7;
        for (int round = 1; round <= 4; round++) {
#pragma omp scope @CLAUSES@
            {
                ADD(runs, 1);
                if (@TOTAL@)
                    sum += 1;
                mine = round;
            }
            @AFTER@;
#pragma omp barrier
        }
    }
    CHECK_EQ(runs, 4 * n);
    CHECK_EQ(sum, @TOTAL@);
    return check_result();
}
