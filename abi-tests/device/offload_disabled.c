// what: OMP_TARGET_OFFLOAD=disabled: there are no devices, and everything runs on the host
// env: OMP_TARGET_OFFLOAD=disabled
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int on = -1, x = 1;
    CHECK_EQ(omp_get_num_devices(), 0);
    CHECK_EQ(omp_get_initial_device(), 0);
#pragma omp target map(from : on) map(to : x)
    {
        on = omp_get_device_num();
        x = 2;
    }
    CHECK_EQ(on, 0);
    CHECK_EQ(x, 2);
    CHECK(omp_target_alloc(8, 1) == NULL);
    return check_result();
}
