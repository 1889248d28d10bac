/* Tasks with versions, in programs that are linked without the library. */
#ifndef VERSIONS_H
#define VERSIONS_H
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>
#include "ompx.h"
#pragma weak ompx_task_versions
#pragma weak ompx_device_any
#pragma weak ompx_device_any_gpu
#pragma weak ompx_device_any_rank
#pragma weak ompx_future_wait
#pragma weak ompx_future_free
#include "cuda_driver.h"

static int has_gpus(void)
{
    return getenv("OMPX_CUDA") != NULL;
}

/* Puts a call of the host on the stream. */
static int put_call(void *stream, void (*call)(void *), const void *args)
{
    static int (*launch)(void *, void (*)(void *), void *);
    if (!__atomic_load_n(&launch, __ATOMIC_ACQUIRE))
        __atomic_store_n(&launch, (int (*)(void *, void (*)(void *), void *))cuda("cuLaunchHostFunc"),
                         __ATOMIC_RELEASE);
    return launch(stream, call, (void *)args);
}
#endif
