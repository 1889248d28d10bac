// what: device tasks and versions that fail, in their function or for lack of room for a block, give their turns back: as many others run as before
// compilers: clang>=19
// gpus: memory=8
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
// expect-stderr: gangway: task * failed with 7, and its future with it
// expect-stderr: gangway: task *: * its future has failed
// expect-stderr: gangway: ompx_future_wait: the device, or the code that used it, failed*
#include "arrays.h"
#include "gpu_tasks.h"
enum { MANY = 150, LARGE = 16 << 20 };

static int ran, length = 200;

static int fails(void *stream, const void *args)
{
    (void)args;
    return put_call(stream, nap, &length) ? 1 : 7;
}

static int version_fails(int device, void *stream, const void *args)
{
    return device < 0 ? 1 : fails(stream, args);
}

static int works(void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

static void all(char *large)
{
    static ompx_future_t futures[3 * MANY];
    ompx_versions_t versions = {sizeof versions, NULL, version_fails, NULL};
    ompx_access_t access = {large, OMPX_IN};
    for (int i = 0; i < MANY; i++) {
        CHECK_EQ(ompx_cuda_task(ompx_device_any_gpu(), fails, NULL, 0, NULL, 0, &futures[3 * i]), 0);
        CHECK_EQ(ompx_task_versions(ompx_device_any_gpu(), &versions, NULL, 0, NULL, 0, &futures[3 * i + 1]),
                 0);
        CHECK_EQ(ompx_cuda_task(ompx_device_any_gpu(), works, NULL, 0, &access, 1, &futures[3 * i + 2]), 0);
    }
    for (int i = 0; i < MANY; i++)
        any_task(works, i, NULL);
    for (int i = 0; i < 3 * MANY; i++) {
        CHECK_EQ(ompx_future_wait(futures[i]), OMPX_E_BROKEN);
        CHECK_EQ(ompx_future_free(futures[i]), 0);
    }
#pragma omp taskwait
    CHECK_EQ(ran, MANY);
}

int main(void)
{
    char *large = ompx_array_create(NULL, LARGE, 0);
    CHECK(large != NULL);
#pragma omp parallel
#pragma omp single
    all(large);
    CHECK_EQ(ompx_array_destroy(large), 0);
    return check_result();
}
