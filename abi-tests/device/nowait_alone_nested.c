// what: a thread that is alone in a target region goes on behind target nowait there, too; the second task of a chain, which is made ready when the thread that
// launched the region has gone on and waits anew, begins all the same; what is not waited for is over when
// the region ends
// env: GANGWAY_HOST_DEVICE_DELAY=10000
// offload: yes
// compilers: gcc
// devices: 3
// threads: 1
// timeout: 10
// mode: preload
// ours: host devices
#include "device.h"
enum { N = 20 };
static long inner, outer, other;
static int left[N];
static double took;

/* In a region: one that waits for its device, and one that waits for that one. */
static void chain(void)
{
    long *p = &inner;
#pragma omp target nowait device(1) depend(inout : p[0]) is_device_ptr(p)
    p[0] += 1;
#pragma omp target nowait device(2) depend(inout : p[0]) is_device_ptr(p)
    p[0] *= 3;
#pragma omp taskwait
}

/* In a region: many at the same time. */
static void many(void)
{
    double start = omp_get_wtime();
    for (int i = 0; i < N; i++) {
        int *p = &left[i];
#pragma omp target nowait device(i % 3) is_device_ptr(p)
        p[0] += 1;
    }
    took = omp_get_wtime() - start;
}

int main(void)
{
    for (int round = 0; round < 3; round++) {
        inner = 1;
#pragma omp target nowait device(0) depend(out : outer)
        chain();
#pragma omp target nowait device(0) depend(out : other)
        ;
        // Goes on in the middle of the chain.
#pragma omp taskwait depend(in : other)
#pragma omp taskwait
        CHECK_EQ(inner, 6);
    }
#pragma omp target device(0)
    many();
    for (int i = 0; i < N; i++)
        CHECK_EQ(left[i], 1);
    CHECK(took < N * 0.010);
    return check_result();
}
