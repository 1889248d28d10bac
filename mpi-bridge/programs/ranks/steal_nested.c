/* Regions that create regions whose device is the runtime's choice: ranks that serve are stolen from, too,
 * and regions that wait for their own never stand in their way. gcc only: clang has no device code for it. */
#include "device.h"
#include "ompx.h"

enum { CHILDREN = 36 };

static void spend(double seconds)
{
    double end = omp_get_wtime() + seconds;
    while (omp_get_wtime() < end)
        ;
}

/* A region on `parent` has its regions placed in turns; this device is the slow one. Did it run some, and no
 * more than are placed there? Where other programs want the processors, another device may be the slower one.
 */
static int children(int parent, int devices)
{
    int on[CHILDREN], first = 0;
#pragma omp target device(parent) map(from : on) firstprivate(parent)
    {
        ompx_set_sched("rrmc");
#pragma omp parallel num_threads(2)
#pragma omp single
        for (int i = 0; i < CHILDREN; i++) {
            int *one = &on[i];
#pragma omp target nowait device(ompx_device_any()) map(from : one[0 : 1]) firstprivate(parent)
            {
                spend(omp_get_device_num() == parent ? 0.03 : 0.001);
                one[0] = omp_get_device_num();
            }
        }
        ompx_set_sched("least");
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK(on[i] >= 0 && on[i] < devices);
        first += on[i] == parent;
    }
    return first > 0 && first <= CHILDREN / devices; /* fewer, where others were quick enough */
}

/* Each region waits for two of its own, which may run anywhere. */
static int fib(int n)
{
    int a = 0, b = 0, *pa = &a, *pb = &b;
    if (n < 2)
        return n;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp target nowait device(ompx_device_any()) firstprivate(n) map(from : pa[0 : 1])
        pa[0] = fib(n - 1);
#pragma omp target nowait device(ompx_device_any()) firstprivate(n) map(from : pb[0 : 1])
        pb[0] = fib(n - 2);
    }
    return a + b;
}

int main(void)
{
    int devices = omp_get_num_devices(), right;
    if (ompx_cluster_rank() > 0)
        return 0;
    for (int d = 0; d < devices; d += devices > 1 ? devices - 1 : 1) {
        right = 0;
        for (int attempt = 0; attempt < 4 && !right; attempt++)
            right = children(d, devices);
        CHECK(right);
    }
    CHECK_EQ(fib(9), 34);
    return check_result();
}
