// what: map(present) of what is not there ends the program: @ACTION@
// each: ACTION ; WHERE = target map(present, to : x) ; a target region / target data map(present, tofrom : x) ; mapping / target enter data map(present, to : x) ; mapping / target update to(present : x) ; target update / target exit data map(present, from : x) ; the end of a mapping
// compilers: clang>=19
// flags: clang -fopenmp-version=52
// expect-exit: 1
// expect-stderr: gangway: @WHERE@ on device 0: 4 bytes at 0x* have to be present (map modifier `present`), and are not; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int x = 1;
#pragma omp @ACTION@
    x = 2;
    return x == 2 ? 0 : 3;
}
