// what: loop construct with bind(@BIND@): each iteration once
// each: BIND ; OPEN = parallel ; omp parallel / teams ; omp teams num_teams(2) / thread ; omp parallel num_threads(1)
// each: CLAUSE ; SUM = ; 0 / reduction(+ : sum) ; 1 / collapse(1) ; 0 / order(concurrent) ; 0
// skip: clang<19 it runs the loop as one thread would, in each of them
#include "check.h"
int main(void)
{
    int seen[100] = {0}, sum = 0;
#pragma @OPEN@
    {
#pragma omp loop bind(@BIND@) @CLAUSE@
        for (int i = 0; i < 100; i++) {
            seen[i]++;
            if (@SUM@)
                sum += i;
        }
    }
    CHECK_EQ(sum, @SUM@ * 4950);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
    return check_result();
}
