// what: OMP_DEFAULT_DEVICE=@DEVICE@ is where constructs without device run, until omp_set_default_device
// each: DEVICE = 0 / 1 / 2
// env: OMP_DEFAULT_DEVICE=@DEVICE@
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
static int where(void)
{
    int d = -1;
#pragma omp target map(from : d)
    d = omp_get_device_num();
    return d;
}
int main(void)
{
    int host = omp_get_num_devices();
    CHECK_EQ(omp_get_default_device(), @DEVICE@);
    CHECK_EQ(where(), @DEVICE@ < host ? @DEVICE@ : host);
    EACH_DEVICE(d)
    {
        omp_set_default_device(d);
        CHECK_EQ(omp_get_default_device(), d);
        CHECK_EQ(where(), d);
        int x = 1;
#pragma omp target enter data map(to : x)
        CHECK_EQ(omp_target_is_present(&x, d), 1);
#pragma omp target exit data map(delete : x)
    }
#pragma omp parallel num_threads(2)
    {
        omp_set_default_device(omp_get_thread_num() ? host : 0);
#pragma omp barrier
        CHECK_EQ(where(), omp_get_thread_num() || host == 0 ? host : 0);
    }
    return check_result();
}
