// what: OMP_TARGET_OFFLOAD=mandatory with devices: regions run there
// env: OMP_TARGET_OFFLOAD=mandatory
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int on = -1;
    CHECK_EQ(omp_get_default_device(), 0);
#pragma omp target map(from : on)
    on = omp_get_device_num();
    CHECK_EQ(on, 0);
#pragma omp target map(from : on) if (0)
    on = omp_get_device_num();
    CHECK_EQ(on, omp_get_num_devices());
#pragma omp target map(from : on) device(omp_get_initial_device())
    on = omp_get_device_num();
    CHECK_EQ(on, omp_get_num_devices());
    return check_result();
}
