// what: device tasks go to GPUs in turns, of which one is slow: others take over what waits for it, and each runs once; so do tasks with versions
// compilers: clang>=19
// env: OMPX_SCHED=rrmc
// offload: yes
// devices: 2,3
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "gpu_tasks.h"
enum { TASKS = 200, SLOW = 20000, QUICK = 500 };

static int ran[2], times[TASKS], lengths[2] = {SLOW, QUICK};
static int (*current_context)(void **context);
static void *slow_context;

static int puts_nap(void *stream, const void *args)
{
    void *context = NULL, *none = NULL;
    CHECK(current_context(&context) == 0 && context != NULL);
    /* The first GPU that is seen is the slow one. */
    __atomic_compare_exchange_n(&slow_context, &none, context, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    int which = context != __atomic_load_n(&slow_context, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ran[which], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&times[*(const int *)args], 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &lengths[which]);
}

static int version(int device, void *stream, const void *args)
{
    __atomic_fetch_add(&ran[device != 0], 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&times[*(const int *)args], 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &lengths[device != 0]);
}

static void all(void)
{
    for (int i = 0; i < TASKS; i++)
        any_task(puts_nap, i, NULL);
#pragma omp taskwait
    CHECK_EQ(ran[0] + ran[1], TASKS);
    CHECK(ran[1] > 2 * ran[0]);
    uint64_t before = turns().regions_taken_over;
    CHECK(before > 0);
    ran[0] = ran[1] = 0;
    ompx_versions_t versions = {sizeof versions, NULL, version, NULL};
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(ompx_task_versions(ompx_device_any_gpu(), &versions, &i, sizeof i, NULL, 0, NULL), 0);
#pragma omp taskwait
    CHECK_EQ(ran[0] + ran[1], TASKS);
    CHECK(ran[1] > 2 * ran[0]);
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(times[i], 2);
}

int main(void)
{
    CHECK(omp_get_num_devices() > 1);
    current_context = (int (*)(void **))cuda("cuCtxGetCurrent");
#pragma omp parallel
#pragma omp single
    all();
    return check_result();
}
