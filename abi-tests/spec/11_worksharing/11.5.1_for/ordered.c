// what: ordered regions run in the order of the loop under schedule(@SCHEDULE@), @CASE@
// languages: c, c++
// each: SCHEDULE = static / static, 3 / dynamic / dynamic, 4 / guided / runtime
// each: CASE ; LOOP ; WHEN ; COUNT = in all iterations ; int i = 0; i < 80; i++ ; 1 ; 80 / in some ; int i = 0; i < 80; i++ ; i % 3 != 1 ; 53 / downwards ; int i = 79; i >= 0; i-- ; 1 ; 80 / unsigned long long ; unsigned long long i = 0; i < 80; i++ ; 1 ; 80
#include "check.h"
int main(void)
{
    int order[100], count = 0, place = 0;
#pragma omp parallel for ordered schedule(@SCHEDULE@)
    for (@LOOP@) {
        if (@WHEN@) {
#pragma omp ordered
            order[count++ % 100] = (int)i;
        }
    }
    CHECK_EQ(count, @COUNT@);
    for (@LOOP@)
        if (@WHEN@)
            CHECK_EQ(order[place++], i);
    return check_result();
}
