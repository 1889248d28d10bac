/* A CUDA driver that is the system's, and notes when copies and kernels begin and end: by events with times
 * before and behind each, in the operation's own stream.
 *
 * Built as a shared object that is linked with libcuda.so.1 and named by OMPX_CUDA: the functions below are
 * found first, all others behind them. The runtime and the program call the same ones, so whatever puts
 * copies and kernels on streams is measured alike. An operation seems to begin when its stream has come to
 * it: a copy that waits for the copy engine seems longer than it is, and a kernel that waits for others to
 * leave the GPU begins where those still run. The events cost the host two calls for each operation: times of
 * a program under it are no figures.
 *
 * For one GPU. Rejected: CUPTI, which is more exact, is no part of the driver and would have to be installed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "overlap.h"

#define API __attribute__((visibility("default")))
enum { TIMED = 0 };

struct operation {
    struct operation *next;
    void *begin, *end; /* events */
    int is_kernel;
};
static struct operation *operations;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *origin; /* an event; null while nothing is recorded */
static struct recorded counted;

static void *own(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL),
         *found = driver ? dlsym(driver, name) : NULL;
    if (!found)
        fprintf(stderr, "recorder: the driver has no %s\n", name), abort();
    return found;
}

static int call(int error, const char *what)
{
    if (error)
        fprintf(stderr, "recorder: %s: CUDA's error %d\n", what, error), abort();
    return error;
}

static int (*create)(void **, unsigned), (*destroy)(void *), (*note)(void *, void *),
    (*elapsed)(float *, void *, void *);
static int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                     void **, void **);
static int (*copy_in)(uintptr_t, const void *, size_t, void *),
    (*copy_out)(void *, uintptr_t, size_t, void *);

__attribute__((constructor)) static void find(void)
{
    *(void **)&create = own("cuEventCreate");
    *(void **)&destroy = own("cuEventDestroy_v2");
    *(void **)&note = own("cuEventRecord");
    *(void **)&elapsed = own("cuEventElapsedTime");
    *(void **)&launch = own("cuLaunchKernel");
    *(void **)&copy_in = own("cuMemcpyHtoDAsync_v2");
    *(void **)&copy_out = own("cuMemcpyDtoHAsync_v2");
}

/* ---- for programs
 * ---------------------------------------------------------------------------------------------------------
 */

/* Records from here on. Nothing is under way, and the GPU's context is current. */
API void recorder_begin(void *stream)
{
    counted = (struct recorded){0};
    void *event;
    call(create(&event, TIMED), "cuEventCreate");
    call(note(event, stream), "cuEventRecord");
    pthread_mutex_lock(&lock);
    origin = event;
    pthread_mutex_unlock(&lock);
}

static double since_origin(void *event)
{
    float ms = 0;
    call(elapsed(&ms, origin, event), "cuEventElapsedTime");
    call(destroy(event), "cuEventDestroy");
    return ms;
}

/* What there was. All of it is over. */
API struct recorded recorder_end(void)
{
    pthread_mutex_lock(&lock);
    struct recorded found = counted;
    struct interval *of[2] = {malloc((size_t)(found.copies + 1) * sizeof **of),
                              malloc((size_t)(found.kernels + 1) * sizeof **of)};
    size_t count[2] = {0, 0};
    for (struct operation *next, *at = operations; at; at = next) {
        next = at->next;
        double begin = since_origin(at->begin), end = since_origin(at->end);
        of[at->is_kernel][count[at->is_kernel]++] = (struct interval){begin, end};
        free(at);
    }
    operations = NULL;
    call(destroy(origin), "cuEventDestroy");
    origin = NULL;
    pthread_mutex_unlock(&lock);
    for (int k = 0; k < 2; k++)
        count[k] = unite(of[k], count[k]);
    found.copying = length(of[0], count[0]);
    found.computing = length(of[1], count[1]);
    found.overlapped = in_both(of[0], count[0], of[1], count[1]);
    free(of[0]);
    free(of[1]);
    return found;
}

/* ---- for the runtime
 * ------------------------------------------------------------------------------------------------------ */

/* Null while nothing is recorded. */
static struct operation *begins(int is_kernel, size_t bytes, void *stream)
{
    pthread_mutex_lock(&lock);
    int is_on = origin != NULL;
    if (is_on) {
        counted.copies += !is_kernel;
        counted.kernels += is_kernel;
        counted.bytes += bytes;
    }
    pthread_mutex_unlock(&lock);
    if (!is_on)
        return NULL;
    struct operation *made = calloc(1, sizeof *made);
    made->is_kernel = is_kernel;
    call(create(&made->begin, TIMED), "cuEventCreate");
    call(create(&made->end, TIMED), "cuEventCreate");
    call(note(made->begin, stream), "cuEventRecord");
    return made;
}

static int ends(struct operation *operation, void *stream, int error)
{
    if (!operation)
        return error;
    call(note(operation->end, stream), "cuEventRecord");
    pthread_mutex_lock(&lock);
    operation->next = operations;
    operations = operation;
    pthread_mutex_unlock(&lock);
    return error;
}

API int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x,
                       unsigned threads_y, unsigned threads_z, unsigned shared, void *stream,
                       void **arguments, void **extra)
{
    struct operation *operation = begins(1, 0, stream);
    return ends(operation, stream,
                launch(function, x, y, z, threads_x, threads_y, threads_z, shared, stream, arguments, extra));
}

API int cuMemcpyHtoDAsync_v2(uintptr_t to, const void *from, size_t bytes, void *stream)
{
    struct operation *operation = begins(0, bytes, stream);
    return ends(operation, stream, copy_in(to, from, bytes, stream));
}

API int cuMemcpyDtoHAsync_v2(void *to, uintptr_t from, size_t bytes, void *stream)
{
    struct operation *operation = begins(0, bytes, stream);
    return ends(operation, stream, copy_out(to, from, bytes, stream));
}
