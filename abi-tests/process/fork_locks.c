// what: a process is forked while another thread is inside a critical and another inside an atomic that needs a lock: its child can use both
// compilers: gcc
// peers: libgomp fails, because a child that enters a region after the parent did hangs
// threads: 2,3,6
// timeout: 30
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

/* What gcc calls for reductions of several variables, and for atomics that no instruction does. */
void GOMP_atomic_start(void);
void GOMP_atomic_end(void);

enum { INSIDE = 2 };
static pthread_barrier_t rendezvous;

static void *in_critical(void *unused)
{
#pragma omp critical
    {
        pthread_barrier_wait(&rendezvous);
        pthread_barrier_wait(&rendezvous);
    }
    return unused;
}

static void *in_atomic(void *unused)
{
    GOMP_atomic_start();
    pthread_barrier_wait(&rendezvous);
    pthread_barrier_wait(&rendezvous);
    GOMP_atomic_end();
    return unused;
}

/* Each thread uses the unnamed critical and the reduction's lock; the sums show that both exclude other
 * threads. */
static int region(void)
{
    long in_turn = 0, sum = 0, members = 0, threads = 0;
#pragma omp parallel reduction(+ : sum, members)
    {
        sum += omp_get_thread_num();
        members++;
        for (int i = 0; i < 1000; i++)
#pragma omp critical
            in_turn++;
#pragma omp single
        threads = omp_get_num_threads();
    }
    return members == threads && sum == threads * (threads - 1) / 2 && in_turn == 1000 * threads;
}

static int child_is_right(void)
{
    int status = -1;
    pid_t child = fork();
    if (!child)
        _exit(region() ? 0 : 1);
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(void)
{
    CHECK(region());
    pthread_t threads[INSIDE];
    pthread_barrier_init(&rendezvous, NULL, INSIDE + 1);
    pthread_create(&threads[0], NULL, in_critical, NULL);
    pthread_create(&threads[1], NULL, in_atomic, NULL);
    pthread_barrier_wait(&rendezvous);
    CHECK(child_is_right());
    pthread_barrier_wait(&rendezvous);
    for (int i = 0; i < INSIDE; i++)
        pthread_join(threads[i], NULL);
    CHECK(region());
    /* From inside: the child goes on behind the critical. */
    pid_t child;
#pragma omp critical
    child = fork();
    if (!child)
        _exit(region() ? 0 : 1);
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(region());
    return check_result();
}
