// what: tasks that put work on streams of GPUs end when that is over, and follow each other and target regions there
// compilers: clang>=19
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_cuda_stream
// only-gpu: it uses streams; cuda_tasks_refused.c checks what is said without
#include "check.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "chained.h"
#include "cuda_driver.h"
#include "streams.h"
enum { N = 2000, LINKS = 60 };
#define BYTES (N * sizeof(long))

typedef int (*copy_function)(long to, long from, size_t bytes, void *stream);
static copy_function copy_in, copy_out, copy_within;

static void find_driver(void)
{
    copy_in = (copy_function)cuda("cuMemcpyHtoDAsync_v2");
    copy_out = (copy_function)cuda("cuMemcpyDtoHAsync_v2");
    copy_within = (copy_function)cuda("cuMemcpyDtoDAsync_v2");
}

/* Tasks by the directive: without a word before them they begin when those before them have ended, with one
 * as soon as those have queued their work. */
static void by_directive(int device, int ahead)
{
    long *a = malloc(BYTES), *b = malloc(BYTES);
    char *steps = omp_target_alloc((LINKS + 1) * BYTES, device);
    CHECK(a && b && steps);
    for (int i = 0; i < N; i++)
        a[i] = i * 7 + device;
    memset(b, 0, BYTES);
    uint64_t before = chained();
    omp_set_default_device(device);
    if (ahead)
        CHECK(ompx_set_task_stream(device) == 0);
#pragma omp task depend(out : steps[0])
    CHECK(copy_in((long)steps, (long)a, BYTES, ompx_cuda_stream()) == 0);
    for (int link = 0; link < LINKS; link++) {
        char *from = steps + link * BYTES, *to = from + BYTES;
        if (ahead)
            CHECK(ompx_set_task_stream(device) == 0);
#pragma omp task depend(in : from[0]) depend(out : to[0])
        {
            void *stream = ompx_cuda_stream();
            CHECK(stream && stream == ompx_cuda_stream() && stream == ompx_cuda_stream_on(device));
            CHECK(copy_within((long)to, (long)from, BYTES, stream) == 0);
        }
    }
    char *last = steps + LINKS * BYTES;
#pragma omp task depend(in : last[0]) depend(out : b[0])
    CHECK(copy_out((long)b, (long)last, BYTES, ompx_cuda_stream()) == 0);
    /* On the host, behind it. */
    int equal = 0;
#pragma omp task depend(in : b[0]) shared(equal)
    equal = memcmp(a, b, BYTES) == 0;
#pragma omp taskwait
    CHECK(equal);
    CHECK(ahead ? chained() > before + LINKS / 3 : chained() == before);
    omp_target_free(steps, device);
    free(a);
    free(b);
}

struct copy {
    long to, from;
    int fails;
};

static int put_copy(void *stream, const void *args)
{
    const struct copy *copy = args;
    if (copy->fails)
        return copy->fails;
    return copy_within(copy->to, copy->from, BYTES, stream);
}

/* Tasks of a function, between target regions on the same data. */
static void by_function(int device, int any)
{
    long *a = malloc(2 * BYTES), *there;
    memset(a, 0, 2 * BYTES);
#pragma omp target enter data map(to : a[0 : 2 * N]) device(device)
#pragma omp target data use_device_ptr(a) device(device)
    there = a;
    struct copy forth = {(long)(there + N), (long)there, 0};
    ompx_access_t accesses[] = {{a, OMPX_IN}, {a + N, OMPX_OUT}};
    ompx_future_t futures[LINKS];
    for (int link = 0; link < LINKS; link++) {
#pragma omp target nowait depend(inout : a[0]) depend(in : a[N]) map(tofrom : a[0 : 2 * N]) device(device)
        for (int i = 0; i < N; i++)
            a[i] += a[N + i] + link;
        CHECK(ompx_cuda_task(any ? ompx_device_any_gpu() : device, put_copy, &forth, sizeof forth, accesses,
                             2, &futures[link]) == 0);
    }
    for (int link = 0; link < LINKS; link++) {
        CHECK(ompx_future_wait(futures[link]) == 0);
        CHECK(ompx_future_free(futures[link]) == 0);
    }
#pragma omp taskwait
#pragma omp target exit data map(from : a[0 : 2 * N]) device(device)
    unsigned long expected = 0, copied = 0;
    for (int link = 0; link < LINKS; link++) {
        expected += copied + (unsigned)link;
        copied = expected;
    }
    int wrong = 0;
    for (int i = 0; i < 2 * N; i++)
        wrong += (unsigned long)a[i] != expected;
    CHECK(wrong == 0);
    free(a);
}

/* A task that uses all devices: it has ended when all of them have done their part. */
static void several(void)
{
    int devices = omp_get_num_devices();
    long *a = malloc(BYTES), *b = calloc(devices, BYTES);
    void *there[8];
    for (int i = 0; i < N; i++)
        a[i] = i;
    for (int d = 0; d < devices; d++)
        there[d] = omp_target_alloc(BYTES, d);
#pragma omp task depend(out : b[0])
    for (int d = 0; d < devices; d++) {
        void *stream = ompx_cuda_stream_on(d);
        CHECK(copy_in((long)there[d], (long)a, BYTES, stream) == 0 &&
              copy_out((long)(b + d * N), (long)there[d], BYTES, stream) == 0);
    }
    int equal = 0;
#pragma omp task depend(in : b[0]) shared(equal)
    for (int d = 0; d < devices; d++)
        equal += memcmp(a, b + d * N, BYTES) == 0;
#pragma omp taskwait
    CHECK(equal == devices);
    for (int d = 0; d < devices; d++)
        omp_target_free(there[d], d);
    free(a);
    free(b);
}

int main(void)
{
    CHECK(omp_get_num_devices() > 0);
    find_driver();
    for (int device = 0; device < omp_get_num_devices(); device++) {
#pragma omp parallel
#pragma omp single
        {
            by_directive(device, 0);
            by_directive(device, 1);
            by_function(device, 0);
            several();
        }
        by_directive(device, 1);
        by_function(device, 0);
    }
    if (omp_get_num_devices() == 1)
        by_function(0, 1);
    return check_result();
}
