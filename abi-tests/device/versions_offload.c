// what: OMP_TARGET_OFFLOAD=@OFFLOAD@ says which version of a task runs
// each: OFFLOAD = disabled / mandatory
// env: OMP_TARGET_OFFLOAD=@OFFLOAD@
// compilers: clang>=19
// offload: yes
// devices: 1,2
// only-gpu: without GPUs nothing is mandatory
// threads: 4
// mode: preload
// ours: ompx_task_versions
// expect-stderr: *
#include "versions.h"
enum { TASKS = 40 };
static int ran[2];

static int on_host(int device, void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&ran[0], device == omp_get_initial_device() && !stream, __ATOMIC_RELAXED);
    return 0;
}

static int on_gpu(int device, void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&ran[1], device < omp_get_num_devices() && stream, __ATOMIC_RELAXED);
    return 0;
}

int main(void)
{
    int is_mandatory = strcmp(getenv("OMP_TARGET_OFFLOAD"), "mandatory") == 0;
    ompx_versions_t both = {sizeof both, on_host, on_gpu, NULL}, host = {sizeof host, on_host, NULL, NULL}, gpu = {sizeof gpu, NULL, on_gpu, NULL};
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++)
        CHECK_EQ(ompx_task_versions(i % 2 ? ompx_device_any() : ompx_device_any_gpu(), &both, NULL, 0, NULL, 0, NULL), 0);
    CHECK_EQ(ran[is_mandatory], TASKS);
    CHECK_EQ(ran[!is_mandatory], 0);
    CHECK_EQ(ompx_task_versions(ompx_device_any(), is_mandatory ? &host : &gpu, NULL, 0, NULL, 0, NULL), OMPX_E_DEVICE);
    /* The host may be named. */
    CHECK_EQ(ompx_task_versions(omp_get_initial_device(), &both, NULL, 0, NULL, 0, NULL), 0);
#pragma omp taskwait
    CHECK_EQ(ran[0], is_mandatory ? 1 : TASKS + 1);
    return check_result();
}
