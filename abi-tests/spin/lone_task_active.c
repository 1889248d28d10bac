// what: the only task of a thread that never comes to a switch point is run by threads that never sleep
// env: OMP_WAIT_POLICY=active GANGWAY_WORKERS=4
// threads: 2,3,4
#include "check.h"

int main(void)
{
    int ran = 0;
    for (int round = 0; round < 20; round++) {
        int begun = 0;
#pragma omp parallel num_threads(omp_get_max_threads()) shared(begun)
#pragma omp single
        {
            int seen = 0;
#pragma omp task shared(begun)
            {
#pragma omp atomic write
                begun = 1;
            }
            while (!seen)
#pragma omp atomic read
                seen = begun;
        }
        ran += begun;
    }
    CHECK_EQ(ran, 20);
    return check_result();
}
