/* What a program that calls CUDA's driver does: its functions, from the library that the runtime has opened,
 * and streams of interop objects. */
#ifndef CUDA_H
#define CUDA_H
#include "cuda_driver.h"
#include "device.h"

typedef void *CUstream;

/* Is it of a GPU? */
static int is_of_a_gpu(omp_interop_t object)
{
    int code;
    return omp_get_interop_int(object, omp_ipr_fr_id, &code) == omp_ifr_cuda && code == omp_irc_success;
}

/* Makes the object's context current; what was current before. */
static void *enter(omp_interop_t object)
{
    void *before, *context = omp_get_interop_ptr(object, omp_ipr_device_context, NULL);
    CHECK_EQ(((int (*)(void **))cuda("cuCtxGetCurrent"))(&before), 0);
    CHECK_EQ(((int (*)(void *))cuda("cuCtxSetCurrent"))(context), 0);
    return before;
}

static void leave(void *before)
{
    CHECK_EQ(((int (*)(void *))cuda("cuCtxSetCurrent"))(before), 0);
}

static CUstream stream_of(omp_interop_t object)
{
    int code = 7;
    CUstream stream = omp_get_interop_ptr(object, omp_ipr_targetsync, &code);
    CHECK_EQ(code, omp_irc_success);
    return stream;
}

/* Puts a copy on the object's stream: to the device, to the host, inside of the device. Where there is no
 * stream, the thread copies, when all that it has begun is over. Returns the driver's code. */
static int foreign_copy(omp_interop_t object, const char *way, void *to, const void *from, size_t size,
                        int to_device, int from_device)
{
    if (!is_of_a_gpu(object)) {
#pragma omp taskwait
        return omp_target_memcpy(to, (void *)from, size, 0, 0, to_device, from_device);
    }
    void *before = enter(object);
    int code =
        ((int (*)(void *, const void *, size_t, CUstream))cuda(way))(to, from, size, stream_of(object));
    leave(before);
    return code;
}

static int copy_in(omp_interop_t object, void *to, const void *from, size_t size, int device)
{
    return foreign_copy(object, "cuMemcpyHtoDAsync_v2", to, from, size, device, omp_get_initial_device());
}

static int copy_out(omp_interop_t object, void *to, const void *from, size_t size, int device)
{
    return foreign_copy(object, "cuMemcpyDtoHAsync_v2", to, from, size, omp_get_initial_device(), device);
}

static int copy_within(omp_interop_t object, void *to, const void *from, size_t size, int device)
{
    return foreign_copy(object, "cuMemcpyDtoDAsync_v2", to, from, size, device, device);
}

/* Puts a call on the object's stream. */
static void foreign_call(omp_interop_t object, void (*call)(void *), void *argument)
{
    void *before = enter(object);
    CHECK_EQ(((int (*)(CUstream, void (*)(void *), void *))cuda("cuLaunchHostFunc"))(stream_of(object), call,
                                                                                     argument),
             0);
    leave(before);
}

/* Holds a stream up until the int is set. */
static void hold(void *gate)
{
    while (!__atomic_load_n((int *)gate, __ATOMIC_ACQUIRE))
        ;
}
#endif
