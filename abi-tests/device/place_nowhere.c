// what: under OMP_TARGET_OFFLOAD=mandatory a region that leaves the device to the runtime ends the program where there is none
// env: OMP_TARGET_OFFLOAD=mandatory
// expect-exit: 134
// expect-stderr: gangway: a target region found no device, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 0
// threads: 4
// mode: preload
// ours: placement
#include "place.h"
int main(void)
{
    where(100);
    return 2;
}
