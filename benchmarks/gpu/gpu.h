/* What the programs of this directory share: the driver's own calls for comparison, rounds, and how a wrong
 * answer ends a program.
 *
 * A program is started with the name of the driver in OMPX_CUDA (`on` for the system's), which the runtime
 * opens as well, and that of the kernels (kernels.c: PTX for a GPU, a shared object for the driver for tests)
 * in GPU_BENCH_KERNELS. With --check sizes and rounds are small. What it prints is Markdown. */
#ifndef GPU_BENCH_H
#define GPU_BENCH_H
#include <dlfcn.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ompx.h"

/* The programs are linked without the library. */
#pragma weak ompx_cuda_task
#pragma weak ompx_device_any
#pragma weak ompx_future_free
#pragma weak ompx_future_wait
#pragma weak ompx_set_sched

#define MUST(condition, ...) \
    do \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
            exit(1); \
        } \
    while (0)

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- options and figures
 * ------------------------------------------------------------------------------------------------ */

/* Is there the word --check? */
static inline int is_check(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--check"))
            return 1;
    return 0;
}

/* The number behind a word such as --rounds. */
static inline long option(int argc, char **argv, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], name))
            otherwise = atol(argv[i + 1]);
    MUST(otherwise > 0, "%s wants a number above 0", name);
    return otherwise;
}

/* Samples of one row. */
enum { MOST_ROUNDS = 101 };
struct samples {
    int count;
    double of[MOST_ROUNDS];
};

static inline void add_sample(struct samples *samples, double value)
{
    int at = samples->count++;
    for (; at > 0 && samples->of[at - 1] > value; at--)
        samples->of[at] = samples->of[at - 1];
    samples->of[at] = value;
}

static inline double least(const struct samples *samples)
{
    return samples->of[0];
}

static inline double median(const struct samples *samples)
{
    return samples->of[samples->count / 2];
}

/* ---- the driver's own calls
 * --------------------------------------------------------------------------------------------- */

static inline void *driver_library(void)
{
    const char *name = getenv("OMPX_CUDA");
    MUST(name, "OMPX_CUDA has to name the driver");
    void *driver = dlopen(strchr(name, '/') ? name : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    MUST(driver, "%s", dlerror());
    return driver;
}

/* Null if it has no such function. */
static inline void *driver_may_have(const char *name)
{
    return dlsym(driver_library(), name);
}

static inline void *driver_function(const char *name)
{
    void *found = driver_may_have(name);
    MUST(found, "the driver has no %s", name);
    return found;
}

typedef uintptr_t address; /* on a device */

struct driver {
    int (*retain)(void **, int), (*set_current)(void *), (*attribute)(int *, int, int),
        (*device_name)(char *, int, int), (*version)(int *);
    int (*load)(void **, const void *), (*get_function)(void **, void *, const char *);
    int (*allocate)(address *, size_t), (*release)(address), (*allocate_host)(void **, size_t, unsigned),
        (*release_host)(void *);
    int (*create_stream)(void **, unsigned), (*synchronize)(void *);
    int (*create_event)(void **, unsigned), (*destroy_event)(void *), (*record)(void *, void *),
        (*wait_event)(void *, void *, unsigned);
    int (*copy_in)(address, const void *, size_t, void *), (*copy_out)(void *, address, size_t, void *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                  void **, void **);
};
enum { NON_BLOCKING = 1, WITHOUT_TIMES = 2, MULTIPROCESSORS = 16 };

#define DRIVER(call, ...) \
    do { \
        int error = (call); \
        MUST(error == 0, "CUDA's error %d", error); \
    } while (0)

static inline struct driver find_driver(void)
{
    struct driver d;
    *(void **)&d.retain = driver_function("cuDevicePrimaryCtxRetain");
    *(void **)&d.set_current = driver_function("cuCtxSetCurrent");
    *(void **)&d.attribute = driver_function("cuDeviceGetAttribute");
    *(void **)&d.device_name = driver_function("cuDeviceGetName");
    *(void **)&d.version = driver_function("cuDriverGetVersion");
    *(void **)&d.load = driver_function("cuModuleLoadData");
    *(void **)&d.get_function = driver_function("cuModuleGetFunction");
    *(void **)&d.allocate = driver_function("cuMemAlloc_v2");
    *(void **)&d.release = driver_function("cuMemFree_v2");
    *(void **)&d.allocate_host = driver_function("cuMemHostAlloc");
    *(void **)&d.release_host = driver_function("cuMemFreeHost");
    *(void **)&d.create_stream = driver_function("cuStreamCreate");
    *(void **)&d.synchronize = driver_function("cuStreamSynchronize");
    *(void **)&d.create_event = driver_function("cuEventCreate");
    *(void **)&d.destroy_event = driver_function("cuEventDestroy_v2");
    *(void **)&d.record = driver_function("cuEventRecord");
    *(void **)&d.wait_event = driver_function("cuStreamWaitEvent");
    *(void **)&d.copy_in = driver_function("cuMemcpyHtoDAsync_v2");
    *(void **)&d.copy_out = driver_function("cuMemcpyDtoHAsync_v2");
    *(void **)&d.launch = driver_function("cuLaunchKernel");
    return d;
}

/* Makes the primary context of GPU 0, which the runtime uses, current on this kernel thread. Called by code
 * outside of parallel regions, whose kernel thread does not change. */
static inline void use_gpu(const struct driver *driver)
{
    void *context;
    DRIVER(driver->retain(&context, 0));
    DRIVER(driver->set_current(context));
}

/* What a program needs: devices of this runtime's. Returns how many. */
static inline int gpus(void)
{
    MUST(ompx_cuda_task && ompx_set_sched, "this program runs under libgangway");
    int count = omp_get_num_devices();
    MUST(count > 0, "there is no GPU");
    return count;
}

/* The text of a file, with a zero at its end. */
static inline char *contents(const char *name)
{
    FILE *file = name ? fopen(name, "rb") : NULL;
    MUST(file, "GPU_BENCH_KERNELS has to name the kernels' file");
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    char *text = calloc(1, (size_t)size + 1);
    rewind(file);
    MUST(text && fread(text, 1, (size_t)size, file) == (size_t)size, "%s cannot be read", name);
    fclose(file);
    return text;
}

/* A kernel of kernels.c, for the context that is current. */
static inline void *raw_kernel(const struct driver *driver, const char *name)
{
    void *module, *function;
    char *image = contents(getenv("GPU_BENCH_KERNELS"));
    DRIVER(driver->load(&module, image));
    DRIVER(driver->get_function(&function, module, name));
    free(image);
    return function;
}

/* Puts a kernel on a stream. Its parameters are all as large as a pointer. Returns the driver's error. */
static inline int launch(const struct driver *driver, void *kernel, unsigned blocks, unsigned threads,
                         void *stream, uintptr_t *parameters, size_t count)
{
    size_t bytes = count * sizeof *parameters;
    void *extra[] = {(void *)1, parameters, (void *)2, &bytes, NULL};
    return driver->launch(kernel, blocks, 1, 1, threads, 1, 1, 0, stream, NULL, extra);
}
#endif
