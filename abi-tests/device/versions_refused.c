// what: mistakes around tasks with versions have a code and a line; a version that fails makes its future fail, and nothing else
// offload: yes
// devices: 1
// threads: 4
// mode: preload
// ours: ompx_task_versions
#include "versions.h"
#include "said.h"

static int calls;

static int does_nothing(int device, void *stream, const void *args)
{
    (void)device, (void)stream;
    calls += args == NULL;
    return 0;
}

static int gives_up(int device, void *stream, const void *args)
{
    (void)device, (void)stream;
    return *(const int *)args;
}

static void fails(int device)
{
    int seven = 7;
    ompx_access_t access = {&seven, OMPX_INOUT};
    ompx_versions_t failing = {sizeof failing, gives_up, gives_up, NULL},
                    sound = {sizeof sound, does_nothing, does_nothing, NULL};
    ompx_future_t future;
    calls = 0;
#pragma omp parallel
#pragma omp single
    {
        CHECK(ompx_task_versions(device, &failing, &seven, sizeof seven, &access, 1, &future) == 0);
        CHECK(ompx_task_versions(device, &sound, NULL, 0, &access, 1, NULL) == 0);
#pragma omp taskwait
    }
    CHECK(said("failed with 7, and its future with it"));
    CHECK(ompx_future_wait(future) == OMPX_E_BROKEN &&
          said("ompx_future_wait: the device, or the code that used it, failed"));
    CHECK(ompx_future_free(future) == 0 && said(NULL));
    CHECK_EQ(calls, 1);
}

int main(void)
{
    const char *what = "ompx_task_versions";
    int x, any = ompx_device_any(), any_gpu = ompx_device_any_gpu();
    ompx_access_t right = {&x, OMPX_INOUT}, wrong = {&x, 16};
    ompx_versions_t both = {sizeof both, does_nothing, does_nothing, NULL},
                    none = {sizeof none, NULL, NULL, NULL},
                    small = {sizeof small - 1, does_nothing, does_nothing, NULL};
    ompx_versions_t host = {sizeof host, does_nothing, NULL, NULL},
                    gpu = {sizeof gpu, NULL, does_nothing, NULL};
    catch_lines();
    CHECK(ompx_task_versions(any, NULL, NULL, 0, NULL, 0, NULL) == OMPX_E_ARGUMENT && said(what));
    CHECK(ompx_task_versions(any, &none, NULL, 0, NULL, 0, NULL) == OMPX_E_ARGUMENT && said(what));
    CHECK(ompx_task_versions(any, &small, NULL, 0, NULL, 0, NULL) == OMPX_E_ARGUMENT && said(what));
    CHECK(ompx_task_versions(any, &both, NULL, 1, NULL, 0, NULL) == OMPX_E_ARGUMENT && said(what));
    CHECK(ompx_task_versions(any, &both, NULL, 0, NULL, 1, NULL) == OMPX_E_ARGUMENT && said(what));
    CHECK(ompx_task_versions(any, &both, NULL, 0, &wrong, 1, NULL) == OMPX_E_TYPE && said(what));
    CHECK(ompx_task_versions(any, &both, NULL, 0, &right, -1, NULL) == OMPX_E_COUNT && said(what));
    CHECK(ompx_task_versions(77, &both, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE &&
          said("there is no device of this kind"));
    CHECK(ompx_task_versions(-4, &both, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE &&
          said(what)); /* omp_invalid_device */
    CHECK(ompx_task_versions(ompx_device_any_rank(), &both, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE &&
          said(what));
    /* A device without a version for it. */
    CHECK(ompx_task_versions(omp_get_initial_device(), &gpu, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE &&
          said(what));
    CHECK(ompx_task_versions(0, &host, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE && said(what));
    CHECK_EQ(calls, 0);
    CHECK_EQ(ompx_task_versions(any, &gpu, NULL, 0, &right, 1, NULL), has_gpus() ? 0 : OMPX_E_DEVICE);
    CHECK(said(has_gpus() ? NULL : what));
    CHECK_EQ(ompx_task_versions(any_gpu, &gpu, NULL, 0, &right, 1, NULL), has_gpus() ? 0 : OMPX_E_DEVICE);
    CHECK(said(has_gpus() ? NULL : what));
    CHECK_EQ(ompx_task_versions(any_gpu, &host, NULL, 0, &right, 1, NULL), 0);
    CHECK_EQ(ompx_task_versions(any, &host, NULL, 0, &right, 1, NULL), 0);
#pragma omp taskwait
    CHECK(said(NULL));
    CHECK_EQ(calls, has_gpus() ? 4 : 2);
    fails(omp_get_initial_device());
    fails(any);
    if (has_gpus())
        fails(any_gpu);
    dup2(was, 2);
    return check_result();
}
