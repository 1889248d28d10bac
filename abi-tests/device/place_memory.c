// what: under OMPX_DEVICE_MEMORY=1M regions run where there is room, wait for it, or run on the host: with what stays mapped and what is declared counted
// each: POLICY = least / rrmc / estmc
// env: OMPX_SCHED=@POLICY@ OMPX_DEVICE_MEMORY=1M
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 2
// threads: 4
// mode: preload
// ours: placement
// expect-stderr: no device has room for target region
// expect-stderr-lines: 1
#include "place.h"
enum { LARGE = 600 << 10, REGIONS = 24 };
int main(void)
{
    char *resident = malloc(LARGE), *data = malloc((size_t)REGIONS * LARGE);
    int on[REGIONS];
    memset(resident, 2, LARGE);
    memset(data, 3, (size_t)REGIONS * LARGE);
#pragma omp target enter data device(0) map(to : resident[0 : LARGE])
    for (int i = 0; i < 6; i++)
        CHECK_EQ(where(LARGE), 1);
    ompx_set_task_memory(600 << 10);
    CHECK_EQ(where(300 << 10), 1);
    ompx_set_task_memory(900 << 10);
    CHECK_EQ(where(300 << 10), omp_get_num_devices());
    CHECK_EQ(where(2 << 20), omp_get_num_devices());
    int a = where(300 << 10), b = where(300 << 10); /* forgotten */
    CHECK(a < 2 && b < 2);
#pragma omp target exit data device(0) map(delete : resident[0 : LARGE])
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < REGIONS; i++) { /* one at a time on each device */
        char *part = data + (size_t)i * LARGE;
        int *one = &on[i];
#pragma omp target nowait device(ANY) map(to : part[0 : LARGE]) map(from : one[0 : 1])
        one[0] = part[LARGE - 1] == 3 ? omp_get_device_num() : -1;
    }
    for (int i = 0; i < REGIONS; i++)
        CHECK(on[i] == 0 || on[i] == 1);
    free(resident);
    free(data);
    return check_result();
}
