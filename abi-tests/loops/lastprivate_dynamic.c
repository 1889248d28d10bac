// what: lastprivate of a dynamic loop comes from the last iteration, whichever thread had it
// peers: libomp fails, because its stealing schedule can report the last chunk wrongly
#include "check.h"
int main(void)
{
    for (int round = 0; round < 100; round++) {
        int b = 0, c = 0;
#pragma omp parallel for lastprivate(b) schedule(dynamic, 3)
        for (int i = 77; i > 0; i -= 4)
            b = i;
        CHECK_EQ(b, 1);
#pragma omp parallel for lastprivate(c) schedule(dynamic)
        for (long i = 0; i < 20; i++)
            c = (int)i;
        CHECK_EQ(c, 19);
    }
    return check_result();
}
