// what: target regions fall back to the host: map, firstprivate, data, update, nowait with depend, teams
#include "check.h"
#pragma omp declare target
static int square(int x)
{
    return x * x;
}
#pragma omp end declare target
int main(void)
{
    int a[100], scalar = 7, result = 0, order = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i;
#pragma omp target map(tofrom : a, result)
    {
        for (int i = 0; i < 100; i++)
            a[i] = square(a[i]) + scalar;
        result = omp_is_initial_device();
    }
    CHECK_EQ(result, 1);
    CHECK_EQ(a[9], 88);
#pragma omp target data map(tofrom : a)
    {
#pragma omp target update to(a)
#pragma omp target teams distribute parallel for map(tofrom : a)
        for (int i = 0; i < 100; i++)
            a[i] -= scalar;
#pragma omp target update from(a)
    }
    CHECK_EQ(a[9], 81);
#pragma omp target enter data map(to : a)
#pragma omp target exit data map(from : a)
#pragma omp parallel
#pragma omp single
    {
#pragma omp target nowait depend(out : order) map(tofrom : order)
        order = 1;
#pragma omp task depend(inout : order) shared(order)
        order = order * 10 + 2;
#pragma omp target nowait depend(in : order) map(tofrom : order)
        order = order * 10 + 3;
#pragma omp taskwait
    }
    CHECK_EQ(order, 123);
    return check_result();
}
