// what: OMPX_SCHED=rrmc places regions in turns, whatever is mapped where; ompx_set_sched changes the policy and refuses what is none
// env: OMPX_SCHED=rrmc
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 1,2,3
// threads: 4
// mode: preload
// ours: placement
// expect-stderr: ompx_set_sched("fastest"): not one of least, rrmc
// expect-stderr-lines: 1
#include "place.h"
int main(void)
{
    int count = omp_get_num_devices(), on[12];
    CHECK_EQ(ompx_device_any(), ANY);
    for (int i = 0; i < 12; i++)
        CHECK_EQ(where(100), i % count);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 12; i++) {
        int *one = &on[i];
#pragma omp target nowait device(ANY) map(from : one[0 : 1])
        one[0] = omp_get_device_num();
    }
    for (int d = 0; d < count; d++) {
        int regions = 0;
        for (int i = 0; i < 12; i++)
            regions += on[i] == d;
        CHECK_EQ(regions, 12 / count);
    }
    CHECK_EQ(ompx_set_sched("fastest"), -1);
    CHECK_EQ(where(100), 0); /* still in turns */
    char *there = malloc(8 << 20);
    memset(there, 1, 8 << 20);
    for (int p = 0; p < 2; p++) {
        CHECK_EQ(ompx_set_sched(p ? "least" : "estmc"), 0);
        for (int d = count - 1; d >= 0; d--) { /* where the data are */
            int at = -1;
#pragma omp target enter data device(d) map(to : there[0 : 8 << 20])
#pragma omp target device(ANY) map(to : there[0 : 8 << 20]) map(from : at)
            at = omp_get_device_num();
#pragma omp target exit data device(d) map(delete : there[0 : 8 << 20])
            CHECK_EQ(at, d);
        }
    }
    free(there);
    return check_result();
}
