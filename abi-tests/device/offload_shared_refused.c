// what: OMP_TARGET_OFFLOAD=mandatory ends a program that requires unified shared memory of devices without: @CONSTRUCT@
// each: CONSTRUCT = target map(from : x) / target data map(from : x) / target enter data map(to : x) / target update to(x)
// compilers: clang>=19
// env: OMP_TARGET_OFFLOAD=mandatory
// expect-exit: 134
// expect-stderr: gangway: the program requires unified shared memory, which device 0 does not have, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#pragma omp requires unified_shared_memory
int main(void)
{
    int x = 0;
#pragma omp target
    ;
#pragma omp @CONSTRUCT@
    x = 1;
    return x == 1 ? 0 : 2;
}
