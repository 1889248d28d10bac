// what: device tasks whose GPU the runtime chooses follow those before them, which are not over, on the GPU where these are, whatever the policy says
// compilers: clang>=19
// env: OMPX_SCHED=rrmc
// offload: yes
// devices: 2,3
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "chained.h"
#include "gpu_tasks.h"
enum { CHAINS = 3, LINKS = 40 };

static int ran, length = 1000;

static int puts_nap(void *stream, const void *args)
{
    (void)args;
    __atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

int main(void)
{
    static char chain[CHAINS];
    CHECK(omp_get_num_devices() > 1);
    uint64_t before = chained();
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < CHAINS * LINKS; i++)
        any_task(puts_nap, i, &chain[i % CHAINS]);
    CHECK_EQ(ran, CHAINS * LINKS);
    CHECK(chained() > before + CHAINS * LINKS / 2);
    return check_result();
}
