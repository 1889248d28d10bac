/* Regions that launch regions on other ranks, rely on what was written there before, and go on beside them.
 * gcc only: clang has no device code for it. */
#include "device.h"

static long relay(long x, int d, int devices)
{
    long result = 0;
    if (d >= devices)
        return x;
#pragma omp target device(d) map(to : x) map(from : result)
    result = relay(x * 10 + omp_get_device_num(), d + 1, devices);
    return result;
}

/* Each round the host writes to one rank, and another rank launches what reads it. */
static void fresh(int writer, int reader)
{
    int *cell = omp_target_alloc(sizeof *cell, reader), seen = -1;
    for (int round = 0; round < 200; round++) {
        omp_target_memcpy(cell, &round, sizeof round, 0, 0, reader, omp_get_initial_device());
#pragma omp target device(writer) is_device_ptr(cell) map(from : seen) firstprivate(reader)
        {
            int inner = -1;
#pragma omp target device(reader) is_device_ptr(cell) map(from : inner)
            inner = *cell;
            seen = inner;
        }
        if (seen != round)
            break;
    }
    CHECK_EQ(seen, 199);
    omp_target_free(cell, reader);
}

/* Tasks of the tree are regions on the next rank: all ranks wait for each other at once. */
static int fib(int n, int devices)
{
    int a = 0, b = 0;
    if (n < 2)
        return n;
#pragma omp target nowait device(n % devices) firstprivate(n, devices) map(from : a)
    a = fib(n - 1, devices);
#pragma omp target nowait device((n + 1) % devices) firstprivate(n, devices) map(from : b)
    b = fib(n - 2, devices);
#pragma omp taskwait
    return a + b;
}

/* A chain of tasks on other ranks, by a region that is alone on its rank's thread while that begins others.
 */
static long chain(int from, int devices)
{
    long x = 0;
    for (int k = 0; k < 4; k++) {
#pragma omp target nowait device((from + k) % devices) map(tofrom : x) depend(inout : x)
        x += 1;
    }
#pragma omp taskwait
    return x;
}

static void chains(int devices)
{
    enum { MANY = 100 };
    static long got[MANY];
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < MANY; k++) {
        long *g = &got[k];
#pragma omp target nowait device(k % devices) map(from : g[0 : 1]) firstprivate(k, devices)
        *g = chain(k, devices);
    }
    for (int k = 0; k < MANY; k++)
        CHECK_EQ(got[k], 4);
}

int main(void)
{
    int devices = omp_get_num_devices();
    long want = 0;
    for (int d = 0; d < devices; d++)
        want = want * 10 + d;
    CHECK_EQ(relay(0, 0, devices), want);
    for (int d = 1; d < devices; d++)
        fresh(d - 1, d);
    CHECK_EQ(fib(9, devices), 34);
    chains(devices);
    return check_result();
}
