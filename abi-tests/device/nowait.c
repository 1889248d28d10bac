// what: target nowait with dependences: chains over all devices compute in order, with devices that take @DELAY@ microseconds
// each: DELAY = 0 / 200
// env: GANGWAY_HOST_DEVICE_DELAY=@DELAY@
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
enum { CHAINS = 5, LENGTH = 12 };
int main(void)
{
    long v[CHAINS], want[CHAINS];
    int count = omp_get_num_devices() + 1;
#pragma omp parallel
#pragma omp single
    for (int c = 0; c < CHAINS; c++) {
        v[c] = want[c] = c;
        for (int i = 0; i < LENGTH; i++) {
            long *p = &v[c];
            want[c] = want[c] * 3 + i;
#pragma omp target nowait depend(inout : p[0]) device((c + i) % count) map(tofrom : p[0:1]) firstprivate(i)
            p[0] = p[0] * 3 + i;
        }
    }
    for (int c = 0; c < CHAINS; c++)
        CHECK_EQ(v[c], want[c]);
    return check_result();
}
