/* The library of CUDA's driver that the runtime has opened. */
#ifndef CUDA_DRIVER_H
#define CUDA_DRIVER_H
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function of the driver. */
static void *cuda(const char *name)
{
    const char *said = getenv("OMPX_CUDA");
    void *driver = dlopen(strcmp(said, "on") ? said : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *found = driver ? dlsym(driver, name) : NULL;
    if (!found)
        fprintf(stderr, "the driver has no %s\n", name), abort();
    return found;
}
#endif
