// what: functions of device tasks wait for each other, and for device tasks of their own, more of them than a GPU has turns: their turns do not count meanwhile
// compilers: clang>=19
// offload: yes
// devices: 1,2
// threads: 1,2,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "gpu_tasks.h"
enum { MANY = 40, ROUNDS = 3 };

static int begun, inner, outer, length = 1000;

static int puts_nap(void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&inner, 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

/* Who has waited may be on another kernel thread: who asks for the stream once more has its GPU current
 * there. */
static int waits_for_children(void *stream, const void *args)
{
    (void)args;
    CHECK(stream != NULL);
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    /* For all of this kind: none of them has put anything on its stream yet. */
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < MANY) {
#pragma omp taskyield
    }
    any_task(puts_nap, 0, NULL);
    any_task(puts_nap, 0, NULL);
#pragma omp taskwait
    __atomic_fetch_add(&outer, 1, __ATOMIC_RELAXED);
    return put_call(ompx_cuda_stream(), nap, &length);
}

static int waits_for_future(void *stream, const void *args)
{
    (void)stream, (void)args;
    ompx_future_t future;
    int zero = 0;
    CHECK_EQ(ompx_cuda_task(ompx_device_any_gpu(), puts_nap, &zero, sizeof zero, NULL, 0, &future), 0);
    CHECK_EQ(ompx_future_wait(future), 0);
    CHECK_EQ(ompx_future_free(future), 0);
    __atomic_fetch_add(&outer, 1, __ATOMIC_RELAXED);
    return put_call(ompx_cuda_stream(), nap, &length);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        begun = 0;
#pragma omp parallel
#pragma omp single
        {
            for (int i = 0; i < MANY; i++)
                any_task(waits_for_children, i, NULL);
#pragma omp taskwait
            for (int i = 0; i < MANY / 2; i++)
                any_task(waits_for_future, i, NULL);
        }
    }
    CHECK_EQ(outer, ROUNDS * (MANY + MANY / 2));
    CHECK_EQ(inner, ROUNDS * (2 * MANY + MANY / 2));
    return check_result();
}
