// what: tasks that thread 0 creates when the other threads have long been through with the region: all threads come back for them, each as itself
// each: WORKERS = 1 / 2 / 3
// env: GANGWAY_WORKERS=@WORKERS@
// threads: 2,8
// timeout: 60
#include <omp.h>
#include <sched.h>
#include <stdio.h>

enum { ROUNDS = 60, MOST = 64 };

static int mine = -1;
#pragma omp threadprivate(mine)

static int running, twice, stranger, taken[MOST];

/* A task that ends when all of them run: each needs a thread of its own. */
static void meet(int threads)
{
    const int me = omp_get_thread_num();
    if (__atomic_fetch_add(&taken[me], 1, __ATOMIC_RELAXED) != 0)
        __atomic_store_n(&twice, 1, __ATOMIC_RELAXED);
    /* -1 is storage of its own, new: a region that was found asleep in the kernel on a busy machine (docs/status.md). */
    if (mine != me && mine != -1)
        __atomic_store_n(&stranger, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&running, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&running, __ATOMIC_SEQ_CST) < threads)
        sched_yield();
}

/* Not asleep: threads of a region that was seen asleep get kernel threads of their own. */
static void compute(double seconds)
{
    for (const double end = omp_get_wtime() + seconds; omp_get_wtime() < end;)
        ;
}

/* `late`: the others have left by then, as far as one can tell. `creator`: who makes the tasks. */
static int region(int late, int creator)
{
    int ended = 0, threads = 0;
    running = 0;
    for (int i = 0; i < MOST; ++i)
        taken[i] = 0;
#pragma omp parallel
    {
        if (omp_get_thread_num() == creator) {
            threads = omp_get_num_threads();
            if (late)
                compute(200e-6);
            for (int i = 0; i < threads; ++i) {
#pragma omp task firstprivate(threads) shared(ended)
                {
                    meet(threads);
                    __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
                }
            }
        }
    }
    return ended == threads && !twice && !stranger;
}

int main(void)
{
    const int threads = omp_get_max_threads();
#pragma omp parallel
    mine = omp_get_thread_num();
    for (int round = 0; round < ROUNDS; ++round) {
        int started = 0;
        /* Without tasks: the next region's threads need not stay. */
#pragma omp parallel reduction(+ : started)
        started += 1;
        if (started != threads) {
            printf("round %d: %d of %d threads\n", round, started, threads);
            return 1;
        }
        if (!region(round % 4 != 3, round % 3 == 2 ? threads - 1 : 0)) {
            printf("round %d: tasks are missing, or one thread had two (%d), or a thread had another's storage (%d)\n", round, twice, stranger);
            return 1;
        }
    }
    return 0;
}
