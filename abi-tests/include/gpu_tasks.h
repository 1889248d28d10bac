/* Device tasks that put calls of the host on streams, in programs that are linked without the library. */
#ifndef GPU_TASKS_H
#define GPU_TASKS_H
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>
#include "cuda_driver.h"
#include "streams.h"
#include "turns.h"
#pragma weak ompx_task_versions
#pragma weak ompx_device_any

/* Puts a call of the host on the stream. What `args` is has to stay until it is made. */
static int put_call(void *stream, void (*call)(void *), const void *args)
{
    static int (*launch)(void *, void (*)(void *), void *);
    if (!__atomic_load_n(&launch, __ATOMIC_ACQUIRE))
        __atomic_store_n(&launch, (int (*)(void *, void (*)(void *), void *))cuda("cuLaunchHostFunc"),
                         __ATOMIC_RELEASE);
    return launch(stream, call, (void *)args);
}

/* A call that takes so many microseconds, and keeps neither this machine nor its workers busy. */
static void nap(void *microseconds)
{
    usleep(*(int *)microseconds);
}

/* The device task that calls this function with a copy of an int, after those that used `after`, if that is
 * not null. */
static void any_task(ompx_cuda_function function, int argument, void *after)
{
    ompx_access_t access = {after, OMPX_INOUT};
    CHECK_EQ(ompx_cuda_task(ompx_device_any_gpu(), function, &argument, sizeof argument,
                            after ? &access : NULL, after != NULL, NULL),
             0);
}
#endif
