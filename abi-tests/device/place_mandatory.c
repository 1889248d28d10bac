// what: under OMP_TARGET_OFFLOAD=mandatory a region that has room on no device ends the program
// env: OMP_TARGET_OFFLOAD=mandatory OMPX_DEVICE_MEMORY=1M
// expect-exit: 134
// expect-stderr: gangway: no device has room for target region 1, which needs 2097
// expect-stderr-lines: 1
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 2
// threads: 4
// mode: preload
// ours: placement
#include "place.h"
int main(void)
{
    int first = where(100);
    CHECK(first == 0 || first == 1);
    where(2 << 20);
    return 2;
}
