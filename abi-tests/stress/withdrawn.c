// what: beside programs that compute, while fewer workers run: a task that only an idle worker can start is started, and threads of nested regions that wait for each other in loops go on
// threads: 2, 4
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 120
// env: OMP_MAX_ACTIVE_LEVELS=2

#include "check.h"
#include "foreign_loops.h"

#pragma weak ompx_set_task_pool

static void compute(int rounds)
{
#pragma omp parallel
    for (int round = 0; round < rounds; round++) {
        for (volatile int i = 0; i < 2000; i++)
            ;
#pragma omp barrier
    }
}

/* Computes until a thread has moved once more; fails after half a minute. Other runtimes count no moves. */
static void compute_until_moved(void)
{
    long before = moves();
    double begin = omp_get_wtime();
    do
        compute(2000);
    while (before >= 0 && moves() == before && omp_get_wtime() < begin + 30);
    CHECK_EQ(before < 0 || moves() > before, 1);
}

/* A task that only a free agent can run: its creator waits in a loop of its own, at no scheduling point. */
static void await_agent(void)
{
    int done = 0;
    if (!ompx_set_task_pool || !ompx_set_task_pool())
        return;
#pragma omp task shared(done)
    __atomic_store_n(&done, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
        usleep(20); /* without an agent, until the time limit of the test */
}

/* The threads of a nested region wait for each other in a loop, with and without sleeps. */
static void meet(int sleeps)
{
    int total = 0;
#pragma omp parallel num_threads(2) reduction(+ : total)
    {
        int arrived = 0;
#pragma omp parallel num_threads(2) shared(arrived)
        {
            __atomic_fetch_add(&arrived, 1, __ATOMIC_ACQ_REL);
            while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < omp_get_num_threads())
                if (sleeps)
                    usleep(20);
        }
        total += arrived;
    }
    CHECK_EQ(total, 4);
}

int main(void)
{
    start_spinners();
    for (int round = 0; round < 3; round++) {
        compute_until_moved();
        await_agent();
        meet(0);
        meet(1);
    }
    end_spinners();
    return check_result();
}
