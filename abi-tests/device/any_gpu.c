// what: regions whose GPU is the runtime's choice run on one, and on the host where there is none; those for a rank, which there are none, too
// offload: yes
// devices: 1,3
// threads: 1,4
// mode: preload
// ours: ompx_device_any_gpu
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include "ompx.h"
#pragma weak ompx_device_any_gpu
#pragma weak ompx_device_any_rank
enum { REGIONS = 60, N = 500 };

int main(void)
{
    int gpus = getenv("OMPX_CUDA") != NULL, any = ompx_device_any_gpu();
    long *a = malloc(REGIONS * N * sizeof *a);
    for (int i = 0; i < REGIONS * N; i++)
        a[i] = i;
#pragma omp parallel
#pragma omp single
    for (int r = 0; r < REGIONS; r++) {
        long *mine = a + r * N;
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N]) device(any)
        for (int i = 0; i < N; i++)
            mine[i] *= 2;
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N]) device(any)
        for (int i = 0; i < N; i++)
            mine[i] += 1;
    }
    int wrong = 0;
    for (int i = 0; i < REGIONS * N; i++)
        wrong += a[i] != 2L * i + 1;
    CHECK(wrong == 0);
    /* As the default device, too. The host's own memory is what a region on the host sees. */
    omp_set_default_device(any);
    long here = 0;
#pragma omp target map(to : here)
    here = 1;
    CHECK(gpus ? here == 0 : here == 1);
    /* There are no ranks. */
    omp_set_default_device(ompx_device_any_rank());
    here = 0;
#pragma omp target map(to : here)
    here = 1;
    CHECK(here == 1);
    free(a);
    return check_result();
}
