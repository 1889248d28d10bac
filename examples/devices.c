/* Target regions in the order of their dependences. Without devices they run on the host; with
   GANGWAY_HOST_DEVICES=2 on two devices for tests, each the host behind an address space of its own, so that
   a forgotten `map` shows. */
#include <omp.h>
#include <stdio.h>

enum { N = 1000 };

int main(void)
{
    static double x[N], y[N];
    int devices = omp_get_num_devices(), where = devices > 1 ? 1 : 0;
    for (int i = 0; i < N; i++)
        x[i] = i;
#pragma omp target map(to : x) map(from : y) nowait depend(out : y) device(0)
    for (int i = 0; i < N; i++)
        y[i] = 2 * x[i];
#pragma omp target map(tofrom : y) nowait depend(inout : y) device(where)
    for (int i = 0; i < N; i++)
        y[i] += 1;
#pragma omp taskwait
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += y[i] != 2.0 * i + 1;
    printf("%d devices, %d of %d wrong\n", devices, wrong, N);
    return wrong != 0;
}
