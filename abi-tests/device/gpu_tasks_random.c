// what: graphs by chance of device tasks whose GPU the runtime chooses, also with functions that wait for tasks of their own, on a GPU that is named, with versions, and of regions and host tasks: answers are those of the serial program
// compilers: clang>=19
// offload: yes
// devices: 1,2,3
// threads: 1,2,4
// mode: preload
// ours: ompx_cuda_task
// only-gpu: the host has no streams
// timeout: 60
#include "gpu_tasks.h"
enum { CELLS = 80, N = 100, TASKS = 400, ROUNDS = 3, P = 1000003 };

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

struct work {
    long *to, *from;
    int k;
};
static struct work works[TASKS];

static void does(void *args)
{
    struct work *work = args;
    if (work->k % 3 == 0)
        usleep(work->k % 7 * 100);
    step(work->to, work->from, work->k);
}

static int puts_step(void *stream, const void *args)
{
    return put_call(stream, does, *(struct work *const *)args);
}

static int extra;
static void adds(void *args)
{
    (void)args;
    __atomic_fetch_add(&extra, 1, __ATOMIC_RELAXED);
}

static int puts_one(void *stream, const void *args)
{
    return put_call(stream, adds, args);
}

/* Those before it may not be over, so the task that it waits for has nothing to do with them. */
static int waits(void *stream, const void *args)
{
    CHECK_EQ(ompx_cuda_task(ompx_device_any_gpu(), puts_one, NULL, 0, NULL, 0, NULL), 0);
#pragma omp taskwait
    /* It may be on another kernel thread now. */
    return stream ? puts_step(ompx_cuda_stream(), args) : 1;
}

static int version(int device, void *stream, const void *args)
{
    (void)device;
    if (stream)
        return puts_step(stream, args);
    does(*(struct work *const *)args);
    return 0;
}

static int waiting;

static void one(unsigned what, int x, int y, int t, int devices)
{
    long *to = cells[x], *from = cells[y];
    struct work *work = &works[t];
    *work = (struct work){to, from, t};
    ompx_access_t accesses[] = {{to, OMPX_INOUT}, {from, OMPX_IN}};
    ompx_versions_t versions = {sizeof versions, version, version, NULL};
    int any = ompx_device_any_gpu(), status = 0;
    switch (what) {
    case 0:
    case 1:
    case 2: status = ompx_cuda_task(any, puts_step, &work, sizeof work, accesses, 2, NULL); break;
    case 3: status = ompx_cuda_task(t % devices, puts_step, &work, sizeof work, accesses, 2, NULL); break;
    case 4:
        status = ompx_cuda_task(any, waits, &work, sizeof work, accesses, 2, NULL);
        waiting++;
        break;
    case 5:
    case 6:
        status = ompx_task_versions(what == 5 ? ompx_device_any() : any, &versions, &work, sizeof work,
                                    accesses, 2, NULL);
        break;
    case 7:
    case 8:
#pragma omp target nowait depend(inout : to[0]) depend(in : from[0]) map(tofrom : to[0 : N]) \
    map(to : from[0 : N]) device(any)
        step(to, from, t);
        break;
    default:
#pragma omp task depend(inout : to[0]) depend(in : from[0]) firstprivate(to, from, t)
        step(to, from, t);
    }
    CHECK_EQ(status, 0);
    step(expected[x], expected[y], t);
}

int main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int c = 0; c < CELLS; c++)
            for (int i = 0; i < N; i++)
                cells[c][i] = expected[c][i] = c + i;
#pragma omp parallel
#pragma omp single
        for (int t = 0; t < TASKS; t++) {
            int x = draw(CELLS), y = (x + 1 + draw(CELLS - 1)) % CELLS;
            one(draw(10), x, y, t, omp_get_num_devices());
        }
        int wrong = 0;
        for (int c = 0; c < CELLS; c++)
            for (int i = 0; i < N; i++)
                wrong += cells[c][i] != expected[c][i];
        CHECK_EQ(wrong, 0);
        CHECK_EQ(extra, waiting);
    }
    return check_result();
}
