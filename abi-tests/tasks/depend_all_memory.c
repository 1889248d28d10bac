// what: inoutset and omp_all_memory
// compilers: clang>=19
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    for (int round = 0; round < 20; round++) {
        int x = 0, y = 0, set = 0, barrier = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : x) shared(x)
            x = 1;
#pragma omp task depend(out : y) shared(y)
            y = 2;
#pragma omp task depend(inout : omp_all_memory) shared(x, y, barrier)
            {
                CHECK_EQ(x + y, 3);
                barrier = 1;
            }
            for (int i = 0; i < 6; i++) {
#pragma omp task depend(inoutset : set) shared(set)
                {
#pragma omp atomic
                    set++;
                }
            }
#pragma omp task depend(in : set) shared(set)
            CHECK_EQ(set, 6);
#pragma omp task depend(in : x) shared(barrier)
            CHECK_EQ(barrier, 1);
#pragma omp task depend(out : omp_all_memory) shared(x, set)
            {
                CHECK_EQ(set, 6);
                x = 50;
            }
#pragma omp task depend(in : y) shared(x)
            CHECK_EQ(x, 50);
        }
    }
    return check_result();
}
