// what: depend on array sections and iterators, depobj made, updated and destroyed
// skip: clang<19 needs a later -fopenmp-version
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    enum { N = 40 };
    for (int round = 0; round < 10; round++) {
        int a[N] = {0}, total = 0, o = 0;
        omp_depend_t handle;
#pragma omp depobj(handle) depend(out : o)
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < N; i++) {
#pragma omp task depend(out : a[i]) shared(a) firstprivate(i)
                a[i] = i;
            }
#pragma omp task depend(iterator(int j = 0 : N), in : a[j]) depend(out : total) shared(a, total)
            for (int i = 0; i < N; i++)
                total += a[i];
#pragma omp task depend(in : total) depend(depobj : handle) shared(total, o)
            o = total;
#pragma omp depobj(handle) update(in)
            for (int i = 0; i < 4; i++) {
#pragma omp task depend(depobj : handle) shared(o)
                CHECK_EQ(o, N * (N - 1) / 2);
            }
#pragma omp task depend(inout : o) shared(o)
            o = 1;
        }
#pragma omp depobj(handle) destroy
        CHECK_EQ(o, 1);
        CHECK_EQ(total, N * (N - 1) / 2);
    }
    return check_result();
}
