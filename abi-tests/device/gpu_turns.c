// what: regions whose GPU the runtime chooses take turns: a chain that comes last, and is longest, is done before many short ones that came first
// compilers: clang
// gpus: slow=1000
// offload: yes
// devices: 1
// threads: 1,4
// mode: preload
// ours: ompx_device_any_gpu
// only-gpu: regions that share a counter are put in order by a GPU alone
#include "check.h"
#include <omp.h>
#include "turns.h"
enum { LEAVES = 120, LINKS = 6, N = 100 };

int main(void)
{
    int any = ompx_device_any_gpu(), count = 0, position[LEAVES + LINKS];
    long *a = calloc((LEAVES + 1) * N, sizeof *a);
    CHECK(a != NULL);
#pragma omp target enter data map(to : count, position) device(0)
#pragma omp parallel
#pragma omp single
    {
        for (int leaf = 0; leaf < LEAVES; leaf++) {
            long *mine = a + leaf * N;
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N], count, position) device(any)
            {
                position[leaf] = count++;
                for (int i = 0; i < N; i++)
                    mine[i] += i;
            }
        }
        long *mine = a + LEAVES * N;
        for (int link = 0; link < LINKS; link++) {
#pragma omp target nowait depend(inout : mine[0]) map(tofrom : mine[0 : N], count, position) device(any)
            {
                position[LEAVES + link] = count++;
                for (int i = 0; i < N; i++)
                    mine[i] = mine[i] * 3 + link;
            }
        }
    }
#pragma omp target exit data map(from : count, position) device(0)
    int wrong = 0;
    for (int i = 0; i < LEAVES * N; i++)
        wrong += a[i] != i % N;
    long value = 0;
    for (int link = 0; link < LINKS; link++)
        value = value * 3 + link;
    for (int i = 0; i < N; i++)
        wrong += a[LEAVES * N + i] != value;
    CHECK_EQ(wrong, 0);
    CHECK_EQ(count, LEAVES + LINKS);
    for (int link = 1; link < LINKS; link++)
        CHECK(position[LEAVES + link] > position[LEAVES + link - 1]);
    CHECK(turns().regions_waited > LEAVES / 2);
    /* The last one is no longer than a leaf. */
    CHECK(position[LEAVES + LINKS - 2] < LEAVES);
    free(a);
    return check_result();
}
