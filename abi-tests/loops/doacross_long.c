// what: doacross over long and negative steps, distance 2 and 3
#include "check.h"
int main(void)
{
    static long up[300], down[300];
#pragma omp parallel
    {
#pragma omp for ordered(1) schedule(dynamic, 2)
        for (long i = 0; i < 300; i++) {
#pragma omp ordered depend(sink : i - 3)
            up[i] = (i >= 3 ? up[i - 3] : 0) + 1;
#pragma omp ordered depend(source)
        }
#pragma omp for ordered(1) schedule(static, 3)
        for (long i = 299; i >= 0; i--) {
#pragma omp ordered depend(sink : i + 2)
            down[i] = (i + 2 < 300 ? down[i + 2] : 0) + 1;
#pragma omp ordered depend(source)
        }
    }
    for (int i = 0; i < 300; i++) {
        CHECK_EQ(up[i], i / 3 + 1);
        CHECK_EQ(down[i], (299 - i) / 2 + 1);
    }
    return check_result();
}
