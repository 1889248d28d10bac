/* For tests of devices: each runs on every device, and on the host, whose number comes after theirs. */
#ifndef DEVICE_H
#define DEVICE_H
#include "check.h"

/* Does the device have memory of its own? */
static int is_apart(int device)
{
    return device >= 0 && device < omp_get_num_devices();
}

#define EACH_DEVICE(device) for (int device = 0; device <= omp_get_num_devices(); device++)

/* What is seen where the device has memory of its own, and where not. */
#define APART(device, there, shared) (is_apart(device) ? (there) : (shared))
#endif
