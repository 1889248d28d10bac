// what: device tasks whose GPU the runtime chooses take turns: a chain that comes last, and is longest, is done before many short ones that came first
// compilers: clang>=19
// offload: yes
// devices: 1
// threads: 1,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
#include "gpu_tasks.h"
enum { LEAVES = 120, LINKS = 6 };

static int count, position[LEAVES + LINKS], length = 2000;

static int puts_nap(void *stream, const void *args)
{
    position[*(const int *)args] = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &length);
}

int main(void)
{
    static char chain, leaf[LEAVES];
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < LEAVES; i++)
            any_task(puts_nap, i, &leaf[i]);
        for (int link = 0; link < LINKS; link++)
            any_task(puts_nap, LEAVES + link, &chain);
    }
    CHECK_EQ(count, LEAVES + LINKS);
    for (int link = 1; link < LINKS; link++)
        CHECK(position[LEAVES + link] > position[LEAVES + link - 1]);
    CHECK(turns().regions_waited > LEAVES / 2);
    /* The last one is no longer than a leaf. */
    CHECK(position[LEAVES + LINKS - 2] < LEAVES);
    return check_result();
}
