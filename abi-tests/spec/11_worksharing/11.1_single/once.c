// what: single@CLAUSE@, @COUNT@ times in one region: once each@THEN@
// languages: c, c++
// each: CLAUSE ; THEN ; AFTER = ; , and everybody sees it ; CHECK_EQ(order[i], 1) / nowait ; , all by the end ; (void)i
// each: COUNT = 1 / 2 / 9 / 150
#include "check.h"
int main(void)
{
    static int order[150];
#pragma omp parallel
    for (int i = 0; i < @COUNT@; i++) {
#pragma omp single @CLAUSE@
        order[i]++;
        @AFTER@;
    }
    for (int i = 0; i < 150; i++)
        CHECK_EQ(order[i], i < @COUNT@);
    return check_result();
}
