// what: work of a task's version that fails on the GPU is said with the task's future; tasks with versions go on where they can
// compilers: clang>=19
// offload: yes
// devices: 1,2
// only-gpu: the host has no streams
// threads: 4
// mode: preload
// ours: ompx_task_versions
// expect-stderr: gangway: the work of task * on device 0: CUDA_ERROR_ILLEGAL_ADDRESS; its future has failed
// expect-stderr: gangway: ompx_future_wait: the device, or the code that used it, failed*
// expect-stderr: gangway: device 0 has failed: tasks with versions run elsewhere from here on if they can
#include "versions.h"
enum { TASKS = 100 };
static int ran;

static int breaks(int device, void *stream, const void *args)
{
    (void)device;
    int (*copy)(void *, const void *, size_t, void *) =
        (int (*)(void *, const void *, size_t, void *))cuda("cuMemcpyHtoDAsync_v2");
    int code = copy((void *)args, args, sizeof(long), stream); /* to the host's own */
    return code == 700 ? 0 : code;
}

static int works(int device, void *stream, const void *args)
{
    (void)stream, (void)args;
    if (device != 0)
        __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    return 0;
}

int main(void)
{
    long word = 1;
    ompx_versions_t broken = {sizeof broken, works, breaks, NULL}, sound = {sizeof sound, works, works, NULL};
    ompx_future_t future;
#pragma omp parallel
#pragma omp single
    {
        CHECK_EQ(ompx_task_versions(0, &broken, &word, sizeof word, NULL, 0, &future), 0);
        CHECK_EQ(ompx_future_wait(future), OMPX_E_BROKEN);
        CHECK_EQ(ompx_future_free(future), 0);
        for (int i = 0; i < TASKS; i++)
            CHECK_EQ(ompx_task_versions(ompx_device_any(), &sound, NULL, 0, NULL, 0, NULL), 0);
#pragma omp taskwait
    }
    CHECK_EQ(ran, TASKS);
    return check_result();
}
