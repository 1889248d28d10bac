/* Regions whose GPU the runtime chooses: which of them waited, and which were taken over; 0 under other
 * runtimes. */
#ifndef TURNS_H
#define TURNS_H
#include "ompx.h"
#include <stdlib.h>
#pragma weak ompx_get_counters
#pragma weak ompx_device_any_gpu

static ompx_counters_t turns(void)
{
    ompx_counters_t counters = {0};
    if (ompx_get_counters)
        ompx_get_counters(&counters, sizeof counters);
    return counters;
}

/* Are devices those of the driver for tests, or GPUs? */
static int has_gpus(void)
{
    return getenv("OMPX_CUDA") != NULL;
}
#endif
