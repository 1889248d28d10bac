// what: untied tasks that give way inside a catch, so that they leave it in any order, each find their own exception again
// compilers: gcc
// threads: 2,4,8
#include "check.h"
int main()
{
    int begun = 0;
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 40; i++) {
#pragma omp task untied firstprivate(i) shared(begun)
            {
                __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
                try {
                    throw i;
                } catch (int &value) {
#pragma omp taskyield
                    CHECK_EQ(value, i);
#pragma omp taskyield
                    try {
                        throw;
                    } catch (int again) {
                        CHECK_EQ(again, i);
                    }
                }
            }
        }
    }
    CHECK_EQ(begun, 400);
    return check_result();
}
