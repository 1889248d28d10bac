// what: an OMPX_SCHED that is none, or cannot be had, gives one line that says what is used instead
// each: VALUE ; WHY = fastest ; not one of least / heftmc ; no graph is known ahead / manual:/nowhere ; No such file / ishmc:lambda=7 ; is not lambda=
// env: OMPX_SCHED=@VALUE@
// offload: yes
// no-gpu: kernels of the driver for tests are the host's code, to which omp_get_device_num says the host
// devices: 2
// threads: 2
// mode: preload
// ours: placement
// expect-stderr: OMPX_SCHED='
// expect-stderr: @WHY@
// expect-stderr: ; using least
// expect-stderr-lines: 1
#include "place.h"
int main(void)
{
    for (int i = 0; i < 4; i++)
        CHECK_EQ(where(100), i % 2);
    return check_result();
}
