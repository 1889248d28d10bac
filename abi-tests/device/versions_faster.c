// what: of two versions of a task each is tried, the faster one runs most of the time, and becomes the other one when that is faster
// compilers: clang>=19
// offload: yes
// devices: 1,2
// threads: 1,4
// mode: preload
// only-gpu: elsewhere there is only one version to run
// ours: ompx_task_versions
// timeout: 60
#include "versions.h"
enum { TASKS = 60, ROUND = 6, SHORT = 500, LONG = 30000 };

/* Microseconds that they take; a nap keeps neither this machine nor its workers busy. */
static int naps[2];
static int ran[2];

static void nap(void *args)
{
    usleep(*(int *)args);
}

static int on_host(int device, void *stream, const void *args)
{
    (void)device, (void)stream, (void)args;
    __atomic_fetch_add(&ran[0], 1, __ATOMIC_RELAXED);
    nap(&naps[0]);
    return 0;
}

static int on_gpu(int device, void *stream, const void *args)
{
    (void)device, (void)args;
    __atomic_fetch_add(&ran[1], 1, __ATOMIC_RELAXED);
    return put_call(stream, nap, &naps[1]);
}

/* Runs tasks of these lengths, one after the other or all at once; the size tells them apart from others. How
 * many ran on the GPU. */
static int run(int host, int gpu, size_t size, int in_order)
{
    static int x[TASKS];
    ompx_versions_t versions = {sizeof versions, on_host, on_gpu, &size};
    naps[0] = host;
    naps[1] = gpu;
    ran[0] = ran[1] = 0;
    for (int i = 0; i < TASKS; i++) {
        ompx_access_t access = {&x[in_order ? 0 : i], OMPX_INOUT};
        CHECK_EQ(ompx_task_versions(ompx_device_any(), &versions, NULL, 0, &access, 1, NULL), 0);
        if (in_order && i % ROUND == ROUND - 1) {
            /* A task is placed when those before it have queued their work: so that they tell something about
             * it they have to end. */
#pragma omp taskwait
        }
    }
#pragma omp taskwait
    CHECK_EQ(ran[0] + ran[1], TASKS);
    return ran[1];
}

static void all(void)
{
    int gpu = run(LONG, SHORT, 100, 1);
    CHECK(gpu >= TASKS * 3 / 4 && gpu < TASKS);
    gpu = run(SHORT, LONG, 100000, 1);
    CHECK(gpu <= TASKS / 4 && gpu > 0);
    /* All at once: the slower one is not worth a wait for the faster one. The first ones are placed while
     * nothing is known. */
    gpu = run(LONG * 2, SHORT, 1000, 0);
    CHECK(gpu >= TASKS / 2 && gpu < TASKS);
    gpu = run(SHORT, LONG * 2, 10000, 0);
    CHECK(gpu <= TASKS / 2 && gpu > 0);
    /* The GPU becomes slow: what is known of the host is right. */
    gpu = run(LONG, LONG * 4, 100, 1);
    CHECK(gpu <= TASKS / 2);
}

int main(void)
{
#pragma omp parallel
#pragma omp single
    all();
    return check_result();
}
