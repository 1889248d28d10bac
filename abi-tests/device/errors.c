// what: a program that maps wrongly ends with a line: @WHAT@
// each: WHAT ; ACTION ; LINE = overlapping sections ; target enter data map(to : a[4:8]) ; mapping on device 0: 32 bytes at 0x* are to be mapped, of which a part is mapped already (32 bytes at 0x* / overlapping in a region ; target map(tofrom : a[4:8]) ; a target region on device 0: 32 bytes at 0x* are to be mapped, of which a part is mapped already (32 bytes at 0x*
// expect-exit: 1
// expect-stderr: gangway: @LINE@; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int a[20] = {0};
#pragma omp target enter data map(to : a[0:8])
#pragma omp @ACTION@
    a[5] = 0;
    return a[5];
}
