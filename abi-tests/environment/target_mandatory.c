// what: OMP_TARGET_OFFLOAD=mandatory ends a program whose target region finds no device, with one line
// env: OMP_TARGET_OFFLOAD=mandatory
// threads: 2
// mode: preload,symlink
// compilers: gcc
// ours: peers word it differently
// expect-exit: failure
// expect-stderr: gangway: *OMP_TARGET_OFFLOAD is MANDATORY
// expect-stderr-lines: 1
#include "check.h"
int main(void)
{
    int x = 1;
#pragma omp target map(tofrom : x) device(1)
    x = 2;
    CHECK_EQ(x, 1);
    return 0;
}
