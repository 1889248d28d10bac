// what: a target construct that waits for its device lets the thread run other tasks: 60 regions of 10 ms take far less than 600 ms
// env: GANGWAY_HOST_DEVICE_DELAY=10000
// offload: yes
// no-gpu: it wants copies that take as long as it says
// devices: 1,3
// threads: 1,2
// alone: yes
// mode: preload
// ours: host devices
#include "device.h"
enum { N = 60 };
int main(void)
{
    int v[N];
    double start = 0, end = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        start = omp_get_wtime();
        for (int i = 0; i < N; i++) {
            int *p = &v[i];
            v[i] = i;
#pragma omp target nowait device(i % omp_get_num_devices()) is_device_ptr(p)
            p[0] += 1;
        }
#pragma omp taskwait
        end = omp_get_wtime();
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(v[i], i + 1);
    CHECK(end - start >= 0.010);
    CHECK(end - start < 0.3);
    return check_result();
}
