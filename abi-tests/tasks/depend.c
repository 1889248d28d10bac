// what: depend in, out, inout, mutexinoutset: chains, fans, and undeferred tasks that must wait
#include "check.h"
int main(void)
{
    for (int round = 0; round < 30; round++) {
        int x = 0, y = 0, z[8] = {0}, sum = 0, m = 0, inside = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : x) shared(x)
            {
                for (volatile int spin = 0; spin < 3000; spin++) {
                }
                x = 1;
            }
            for (int i = 0; i < 8; i++) {
#pragma omp task depend(in : x) depend(out : z[i]) shared(x, z) firstprivate(i)
                z[i] = x + i;
            }
            for (int i = 0; i < 8; i++) {
#pragma omp task depend(in : z[i]) depend(mutexinoutset : m) shared(z, m, inside) firstprivate(i)
                {
                    inside++;
                    CHECK_EQ(inside, 1);
                    m += z[i];
                    inside--;
                }
            }
#pragma omp task depend(inout : x) shared(x, z)
            {
                for (int i = 0; i < 8; i++)
                    CHECK_EQ(z[i], i + 1);
                x = 100;
            }
#pragma omp task depend(in : m) depend(out : sum) shared(m, sum)
            sum = m;
#pragma omp task if (0) depend(in : x, sum) shared(x, sum, y)
            y = x + sum;
            CHECK_EQ(y, 136);
#pragma omp task depend(inout : y) shared(y)
            y++;
#pragma omp taskwait depend(in : y)
            CHECK_EQ(y, 137);
        }
        CHECK_EQ(sum, 36);
    }
    return check_result();
}
