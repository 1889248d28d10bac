// what: a task that has waited is the last one of a barrier; its worker goes on with code that spins until the barrier is over
// threads: 2
// env: GANGWAY_WORKERS=2
// compilers: gcc, clang>=19
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static int held, made, spins, over;
static omp_event_handle_t event;

static int get(int *flag)
{
    return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static void set(int *flag, int value)
{
    __atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

/* After the last arriver of the barrier has gone to sleep. */
static void *fulfil(void *unused)
{
    while (!get(&spins))
        usleep(1000);
    usleep(20000);
    omp_fulfill_event(event);
    return unused;
}

static void compute(void)
{
    for (volatile long i = 0; i < 20000000; i++)
        ;
}

/* A child that completes late; then the task computes for longer than anybody looks before he sleeps. */
static void waiting_task(void)
{
    omp_event_handle_t mine;
#pragma omp task detach(mine)
    {
        event = mine;
        set(&made, 1);
    }
#pragma omp taskwait
    compute();
}

static void inner(omp_lock_t *lock)
{
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
#pragma omp task
            waiting_task();
            while (!get(&made)) /* the mate runs it */
                ;
            omp_unset_lock(lock);
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            set(&over, 1);
    }
}

static void outer(omp_lock_t *lock)
{
    if (omp_get_thread_num() == 0) {
        omp_set_lock(lock);
        set(&held, 1);
        inner(lock);
        return;
    }
    while (!get(&held))
        ;
    omp_set_lock(lock); /* the worker runs the mate meanwhile */
    omp_unset_lock(lock);
    set(&spins, 1);
    while (!get(&over))
        ;
}

int main(void)
{
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_max_active_levels(2);
    for (int round = 0; round < 5; round++) {
        pthread_t helper;
        held = made = spins = over = 0;
        pthread_create(&helper, NULL, fulfil, NULL);
#pragma omp parallel num_threads(2)
        outer(&lock);
        pthread_join(helper, NULL);
        CHECK(over);
    }
    omp_destroy_lock(&lock);
    return check_result();
}
