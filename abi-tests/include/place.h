/* Regions whose device is the runtime's choice. The routines are weak, so that programs need not be linked
 * with the library. */
#include <stdint.h>
#include "device.h"

#define ANY 0x40000000
/* This file: the public headers are beside its directory's parent. */
#define PLACE_H __FILE__
__attribute__((weak)) int ompx_set_sched(const char *policy);
__attribute__((weak)) void ompx_set_task_memory(size_t bytes);
__attribute__((weak)) int ompx_device_any(void);

/* Where a region runs that maps so many bytes of its own. */
static int where(size_t bytes)
{
    static char *data;
    int on = -1;
    data = malloc(bytes);
    memset(data, 1, bytes);
#pragma omp target device(ANY) map(to : data[0 : bytes]) map(from : on)
    on = data[bytes - 1] == 1 ? omp_get_device_num() : -2;
    free(data);
    return on;
}
