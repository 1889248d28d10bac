// what: declare target variables of an image are the device's own, on each device, until an update
// compilers: clang>=19
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int counter = 3;
#pragma omp declare target(counter)
int main(void)
{
    int last = omp_get_num_devices();
    for (int d = 0; d <= last; d++) {
        int seen = 0;
#pragma omp target device(d) map(from : seen)
        {
            seen = counter;
            counter += 10 + omp_get_device_num();
        }
        CHECK_EQ(seen, 3);
    }
    CHECK_EQ(counter, 13 + last);
    for (int d = 0; d < last; d++) {
        CHECK_EQ(omp_target_is_present(&counter, d), 1);
#pragma omp target exit data device(d) map(delete : counter)
        CHECK_EQ(omp_target_is_present(&counter, d), 1);
#pragma omp target update device(d) from(counter)
        CHECK_EQ(counter, 13 + d);
    }
    return check_result();
}
