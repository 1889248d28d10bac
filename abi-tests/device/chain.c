// what: regions that follow each other on a device: each finds what those before it have done, on the device and, behind them, on the host
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
#include "chain.h"

int main(void)
{
    for (int device = 0; device < omp_get_num_devices(); device++)
        chains(device, device);
    /* GPUs are told what comes before; others do not have queues. */
    if (getenv("OMPX_CUDA"))
        CHECK(chained() > LINKS / 2);
    else
        CHECK(chained() == 0);
    return check_result();
}
