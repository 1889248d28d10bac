// what: omp_get_device_num and omp_is_initial_device say where code runs, in regions and tasks inside of the region, too
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int host = omp_get_num_devices();
    CHECK_EQ(omp_get_initial_device(), host);
    CHECK_EQ(omp_get_device_num(), host);
    EACH_DEVICE(d)
    {
        int num[4] = {-1, -1, -1, -1}, initial = -1, level = -1, threads = 0;
#pragma omp target device(d) map(tofrom : num, initial, level, threads)
        {
            num[0] = omp_get_device_num();
            initial = omp_is_initial_device();
            level = omp_get_level();
#pragma omp parallel num_threads(3) reduction(max : threads)
            {
                threads = omp_get_num_threads();
                if (omp_get_thread_num() == threads - 1)
                    num[1] = omp_get_device_num();
#pragma omp single
#pragma omp task shared(num)
                num[2] = omp_get_device_num();
            }
            num[3] = omp_get_num_devices();
        }
        for (int i = 0; i < 3; i++)
            CHECK_EQ(num[i], d);
        CHECK_EQ(num[3], host);
        CHECK_EQ(initial, d == host);
        CHECK_EQ(level, 0);
        CHECK(threads >= 1);
        CHECK_EQ(omp_get_device_num(), host);
    }
    int on = -1;
#pragma omp target if (0) map(from : on)
    on = omp_get_device_num();
    CHECK_EQ(on, host);
#pragma omp target device(omp_get_initial_device()) map(from : on)
    on = omp_get_device_num();
    CHECK_EQ(on, host);
    return check_result();
}
