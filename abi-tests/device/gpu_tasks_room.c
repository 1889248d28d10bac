// what: a region for which no device has room, in a device task's function or in a task that it waits for, runs on the host: the task's own stream is not what it could wait for
// compilers: clang>=19
// env: OMPX_DEVICE_MEMORY=64K
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
// expect-stderr: no device has room for target region
#include "gpu_tasks.h"
enum { LARGE = 1 << 20, TASKS = 8 };

static int ran, length = 1000;

static int region(int value)
{
    char *data = calloc(LARGE, 1);
#pragma omp target device(ompx_device_any()) map(tofrom : data[0 : LARGE])
    data[LARGE - 1] += value;
    int right = data[LARGE - 1] == value;
    free(data);
    return right;
}

static int runs_region(void *stream, const void *args)
{
    int value = *(const int *)args, right = 0;
    if (value % 2) {
        right = region(value);
    } else {
#pragma omp task shared(right)
        right = region(value);
#pragma omp taskwait
    }
    __atomic_fetch_add(&ran, right, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
        any_task(runs_region, i + 1, NULL);
#pragma omp taskwait
    }
    CHECK_EQ(ran, TASKS);
    return check_result();
}
