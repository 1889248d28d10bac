// what: mistakes around streams of tasks have a code and a line, and nothing else happens
// offload: yes
// devices: 1
// threads: 4
// mode: preload
// ours: ompx_cuda_stream
#include "check.h"
#include <omp.h>
#include "streams.h"
#include "said.h"

static int calls;

static int does_nothing(void *stream, const void *args)
{
    calls += stream != NULL && args == NULL;
    return 0;
}

static int gives_up(void *stream, const void *args)
{
    (void)stream;
    return *(const int *)args;
}

static void without(void)
{
    CHECK(ompx_set_task_stream(0) == OMPX_E_DEVICE &&
          said("ompx_set_task_stream: there is no device of this kind"));
    CHECK(ompx_cuda_task(ompx_device_any_gpu(), does_nothing, NULL, 0, NULL, 0, NULL) == OMPX_E_DEVICE &&
          said("ompx_cuda_task"));
#pragma omp parallel
#pragma omp single
#pragma omp task
    CHECK(ompx_cuda_stream() == NULL && said("ompx_cuda_stream: there is no device of this kind"));
    CHECK(calls == 0);
}

static void with(void)
{
    int seven = 7;
    ompx_access_t wrong = {&seven, 16}, right = {&seven, OMPX_INOUT};
    ompx_future_t future;
    CHECK(ompx_cuda_stream() == NULL && said("the calling code is no explicit task"));
    CHECK(ompx_cuda_stream_on(0) == NULL && said("ompx_cuda_stream_on"));
    CHECK(ompx_set_task_stream(77) == OMPX_E_DEVICE && said("no device of this kind"));
    CHECK(ompx_cuda_task(0, NULL, NULL, 0, NULL, 0, NULL) == OMPX_E_ARGUMENT && said("ompx_cuda_task"));
    CHECK(ompx_cuda_task(0, does_nothing, NULL, 1, NULL, 0, NULL) == OMPX_E_ARGUMENT &&
          said("ompx_cuda_task"));
    CHECK(ompx_cuda_task(0, does_nothing, NULL, 0, &wrong, 1, NULL) == OMPX_E_TYPE && said("ompx_cuda_task"));
    CHECK(ompx_cuda_task(0, does_nothing, NULL, 0, &right, -1, NULL) == OMPX_E_COUNT &&
          said("ompx_cuda_task"));
    CHECK(ompx_cuda_task(1, does_nothing, NULL, 0, &right, 1, NULL) == OMPX_E_DEVICE &&
          said("ompx_cuda_task"));
#pragma omp parallel
#pragma omp single
    {
        /* One that fails, and one behind it, which does not. */
        CHECK(ompx_cuda_task(0, gives_up, &seven, sizeof seven, &right, 1, &future) == 0);
        CHECK(ompx_cuda_task(0, does_nothing, NULL, 0, &right, 1, NULL) == 0);
#pragma omp taskwait
    }
    CHECK(said("failed with 7, and its future with it"));
    CHECK(ompx_future_wait(future) == OMPX_E_BROKEN &&
          said("ompx_future_wait: the device, or the code that used it, failed"));
    CHECK(ompx_future_free(future) == 0 && said(NULL));
    CHECK(calls == 1);
}

int main(void)
{
    catch_lines();
    if (getenv("OMPX_CUDA"))
        with();
    else
        without();
    dup2(was, 2);
    return check_result();
}
