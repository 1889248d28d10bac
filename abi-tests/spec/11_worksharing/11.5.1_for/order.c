// what: schedule(@SCHEDULE@) gives iterations to threads as it promises: @RULE@
// languages: c, c++
// each: SCHEDULE ; RULE ; TEST = static ; one run each, sizes differ by at most one chunk ; runs <= n / static, 1 ; in turn ; who[i] == i % n / static, 5 ; five in turn ; who[i] == i/5 % n / static, 200 ; all by the first ; who[i] == 0 / dynamic, 200 ; all by one ; who[i] == who[0] / guided, 200 ; all by one ; who[i] == who[0]
// each: SCHEDULE ; RULE ; TEST = monotonic:dynamic ; a thread's iterations grow ; grows / monotonic:guided, 3 ; a thread's iterations grow ; grows / dynamic, 10 ; tens stay together ; who[i] == who[i/10 * 10] / guided, 10 ; tens stay together ; i % 10 == 0 || grows
#include "check.h"
int main(void)
{
    int who[101], n = omp_get_max_threads(), runs = 1, grows = 1;
#pragma omp parallel
    {
        int last = -1;
#pragma omp for schedule(@SCHEDULE@) reduction(&& : grows)
        for (int i = 0; i < 101; i++) {
            who[i] = omp_get_thread_num();
            grows = grows && i > last;
            last = i;
        }
    }
    for (int i = 1; i < 101; i++)
        runs += who[i] != who[i - 1];
    for (int i = 0; i < 101; i++)
        CHECK(@TEST@);
    return check_result();
}
