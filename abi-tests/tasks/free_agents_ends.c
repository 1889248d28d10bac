// what: what ends early with tasks for free agents on the way: a cancelled taskgroup, the child of a fork, a thread of the program, main itself
// ours: free agents are of this library alone
// compilers: gcc,clang>=19
// mode: link
// env: OMP_CANCELLATION=true
// threads: 1,3,8
#include "check.h"
#include "ompx.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 300 };
#define ADD(what, n) __atomic_fetch_add(&what, n, __ATOMIC_RELAXED)
#define GET(what) __atomic_load_n(&what, __ATOMIC_ACQUIRE)
static int ran, late, at_end;

/* Tasks that begin after the cancellation are discarded; all are over at the end of the taskgroup. */
static void cancels(void)
{
    int begun = 0, ended = 0;
#pragma omp taskgroup
    for (int i = 0; i < TASKS; i++) {
        ompx_set_task_pool();
#pragma omp task shared(begun, ended) firstprivate(i)
        {
            ADD(begun, 1);
            if (i == TASKS / 4) {
#pragma omp cancel taskgroup
                ADD(late, 1); /* left by the line above */
            }
            ADD(ended, 1);
        }
    }
    CHECK_EQ(ended, begun - 1);
    CHECK_EQ(late, 0);
}

static void sums(int count)
{
    int sum = 0;
    for (int i = 0; i < count; i++) {
        ompx_set_task_pool();
#pragma omp task shared(sum)
        ADD(sum, 1);
    }
#pragma omp taskwait
    CHECK_EQ(sum, count);
}

/* Outside of a taskgroup its tasks are run at once: it might end at any time. */
static void *thread(void *unused)
{
    int set = ompx_set_task_pool(), mine = 0;
    pthread_t me = pthread_self();
#pragma omp task shared(mine, me)
    mine = pthread_equal(me, pthread_self());
    CHECK_EQ(set, -1);
    CHECK_EQ(mine, 1);
    for (int i = 0; i < 20; i++) {
#pragma omp taskgroup
        sums(50);
        cancels();
    }
    ADD(ran, 1);
    return unused;
}

static void forks(void)
{
    for (int round = 0; round < 5; round++) {
        int done = 0;
        for (int i = 0; i < 20; i++) {
            ompx_set_task_pool();
#pragma omp task shared(done)
            {
                usleep(100);
                ADD(done, 1);
            }
        }
        pid_t child = fork(); /* in the middle of them */
        if (child == 0) {
            sums(100);
            cancels();
            _exit(check_failed != 0);
        }
        int status = -1;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
#pragma omp taskwait
        CHECK_EQ(done, 20);
    }
}

static void tell(void)
{
    if (at_end != 40)
        _exit(3);
}

int main(void)
{
    atexit(tell); /* called after what the library does at the end, which it promises later */
    for (int i = 0; i < 50; i++) {
        sums(100);
        cancels();
    }
    forks();
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, thread, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    CHECK_EQ(ran, 3);
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 100; i++)
            ADD(ran, 1);
        cancels();
    }
    CHECK_EQ(ran, 103);
    for (int i = 0; i < 40; i++) {
        ompx_set_task_pool();
#pragma omp task
        {
            usleep(200);
            ADD(at_end, 1);
        }
    }
    return check_result(); /* the end of the initial task waits for them */
}
