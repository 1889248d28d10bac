// what: OMP_TARGET_OFFLOAD=mandatory ends a program that names a device which is not there: @CONSTRUCT@
// each: CONSTRUCT = target map(from : x) device(d) / target data map(from : x) device(d) / target enter data map(to : x) device(d) / target update to(x) device(d)
// env: OMP_TARGET_OFFLOAD=mandatory
// expect-exit: 134
// expect-stderr: gangway: a target region found no device, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int x = 0, d = omp_get_num_devices() + 1;
#pragma omp @CONSTRUCT@
    x = d;
    return x == d ? 0 : 2;
}
