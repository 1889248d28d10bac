// what: regions go to GPUs in turns, of which the first is slow: others take over what waits for it, and results are right
// env: OMPX_SCHED=rrmc
// gpus: slow=5000
// offload: yes
// devices: 2
// threads: 1,2,4
// mode: preload
// ours: ompx_device_any_gpu
#include "check.h"
#include <omp.h>
#include "turns.h"
enum { REGIONS = 400, N = 100 };

int main(void)
{
    int any = ompx_device_any_gpu();
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
#pragma omp task depend(inout : mine[0])
        mine[0] += 1;
    }
    int wrong = 0;
    for (int i = 0; i < REGIONS * N; i++)
        wrong += a[i] != 2L * i + (i % N == 0);
    CHECK_EQ(wrong, 0);
    if (has_gpus())
        CHECK(turns().regions_taken_over > 0);
    free(a);
    return check_result();
}
