// what: regions whose GPU the runtime chooses, of one or of a set or where the data are, follow each other there: each finds what those before it have done, on the device and, behind them, on the host
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_device_set
#include "chain.h"
#pragma weak ompx_device_set
#pragma weak ompx_device_any_gpu

static void behind_others(int device, int where)
{
    uint64_t before = chained();
    chains(device, where);
    if (getenv("OMPX_CUDA"))
        CHECK(chained() - before > LINKS / 2);
    else
        CHECK(chained() == 0);
}

int main(void)
{
    int devices = omp_get_num_devices();
    for (int device = 0; device < devices; device++)
        behind_others(device, ompx_device_set(&device, 1));
    if (devices == 1 && getenv("OMPX_CUDA"))
        behind_others(0, ompx_device_any_gpu());
    return check_result();
}
