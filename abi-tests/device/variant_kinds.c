// what: a function with variants for kinds of devices: a region whose device the runtime chooses calls that of the image that runs it
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// compilers: clang>=19
// ours: the number that leaves the choice to the runtime
#include "check.h"
#define ANY 0x40000000
enum { N = 100, REGIONS = 20 };

#pragma omp begin declare target
static long on_gpu(long x)
{
    return 4 * x + 3;
}
static long on_other_device(long x)
{
    return 4 * x + 2;
}
#pragma omp declare variant(on_gpu) match(device = {kind(gpu)})
#pragma omp declare variant(on_other_device) match(device = {kind(nohost, cpu)})
static long somewhere(long x)
{
    return 4 * x + 1;
}
#pragma omp end declare target

int main(void)
{
    static long a[REGIONS][N];
    CHECK_EQ(somewhere(5), 21);
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < REGIONS; r++) {
        long *mine = a[r];
#pragma omp target nowait device(ANY) map(from : mine[0 : N]) firstprivate(r) depend(out : mine[0])
        for (int i = 0; i < N; i++)
            mine[i] = somewhere(r * N + i);
#pragma omp task depend(inout : mine[0])
        for (int i = 0; i < N; i++)
            mine[i] -= 4 * (r * N + i);
    }
    /* Images of the driver for tests are this machine's, so a GPU runs what is for devices that are none. */
    int seen[4] = {0};
    for (int r = 0; r < REGIONS; r++)
        for (int i = 0; i < N; i++)
            seen[a[r][i] & 3]++;
    CHECK_EQ(seen[omp_get_num_devices() > 0 ? 2 : 1], REGIONS * N);
    return check_result();
}
