// what: a device task's function runs a target region before it puts its own work on its stream: those behind the task come behind that work, not behind the region
// compilers: clang>=19
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "gpu_tasks.h"
enum { LINKS = 40 };

static int inside, overlaps, ran;

static void alone(void *none)
{
    (void)none;
    if (__atomic_exchange_n(&inside, 1, __ATOMIC_ACQ_REL))
        __atomic_fetch_add(&overlaps, 1, __ATOMIC_RELAXED);
    usleep(2000);
    ran++;
    __atomic_store_n(&inside, 0, __ATOMIC_RELEASE);
}

static int region_then_call(void *stream, const void *args)
{
    int value = *(const int *)args;
#pragma omp target device(0) firstprivate(value)
    for (volatile int i = 0; i < value; i++)
        ;
    return put_call(stream, alone, args);
}

int main(void)
{
    static char chain;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < LINKS; i++)
        any_task(region_then_call, i, &chain);
    CHECK_EQ(ran, LINKS);
    CHECK_EQ(overlaps, 0);
    return check_result();
}
