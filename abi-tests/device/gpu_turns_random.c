// what: graphs by chance of regions whose GPU the runtime chooses, regions on a GPU that is named, host tasks, and host tasks that wait for regions of their own: answers are those of the serial program
// gpus: slow=1500
// offload: yes
// devices: 1,2
// threads: 1,2,4
// mode: preload
// ours: ompx_device_any_gpu
#include "check.h"
#include <omp.h>
#include "turns.h"
enum { CELLS = 80, N = 300, TASKS = 400, ROUNDS = 3, P = 1000003 };

static long cells[CELLS][N], expected[CELLS][N];

static unsigned state = 1;
static unsigned draw(unsigned below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

#pragma omp declare target
static void step(long *to, const long *from, int k)
{
    for (int i = 0; i < N; i++)
        to[i] = (to[i] * 3 + from[i] + k) % P;
}
#pragma omp end declare target

static void one(unsigned what, int x, int y, int k, int any, int devices)
{
    long *to = cells[x], *from = cells[y];
    int named = k % devices;
    switch (what) {
    case 0:
    case 1:
    case 2:
#pragma omp target nowait depend(inout : to[0]) depend(in : from[0]) map(tofrom : to[0 : N]) \
    map(to : from[0 : N]) device(any)
        step(to, from, k);
        break;
    case 3:
#pragma omp target nowait depend(inout : to[0]) depend(in : from[0]) map(tofrom : to[0 : N]) \
    map(to : from[0 : N]) device(named)
        step(to, from, k);
        break;
    case 4:
#pragma omp task depend(inout : to[0]) depend(in : from[0]) firstprivate(to, from, k)
        step(to, from, k);
        break;
    case 5:
        /* A task that waits for regions of its own. */
#pragma omp task depend(inout : to[0]) depend(in : from[0]) firstprivate(to, from, k, any)
    {
#pragma omp target nowait depend(inout : to[0]) map(tofrom : to[0 : N]) map(to : from[0 : N]) device(any)
        step(to, from, k);
#pragma omp target nowait depend(inout : to[0]) map(tofrom : to[0 : N]) map(to : from[0 : N]) device(any)
        step(to, from, k + 1);
#pragma omp taskwait
    }
        step(expected[x], expected[y], k);
        k++;
        break;
    default:
        /* One that waits for its region at once. */
#pragma omp task depend(inout : to[0]) depend(in : from[0]) firstprivate(to, from, k, any)
    {
#pragma omp target map(tofrom : to[0 : N]) map(to : from[0 : N]) device(any)
        step(to, from, k);
    }
    }
    step(expected[x], expected[y], k);
}

int main(void)
{
    int any = has_gpus() ? ompx_device_any_gpu() : omp_get_initial_device(), devices = omp_get_num_devices();
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CELLS; c++)
            for (int i = 0; i < N; i++)
                cells[c][i] = expected[c][i] = c + i;
#pragma omp parallel
#pragma omp single
        for (int t = 0; t < TASKS; t++) {
            int x = draw(CELLS), y = (x + 1 + draw(CELLS - 1)) % CELLS;
            one(draw(7), x, y, t, any, devices ? devices : 1);
        }
        int wrong = 0;
        for (int c = 0; c < CELLS; c++)
            for (int i = 0; i < N; i++)
                wrong += cells[c][i] != expected[c][i];
        CHECK_EQ(wrong, 0);
    }
    return check_result();
}
