// what: what ends early with tasks for free agents on the way: a cancelled taskgroup, the child of a fork, a thread of the program, main itself
// ours: free agents are of this library alone
// compilers: gcc,clang>=19
// mode: link
// opt: -O0
// env: OMP_CANCELLATION=true
// threads: 1,3,8
#include "check.h"
#include "ompx.h"
#include <omp.h>
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

/* Who holds the lock waits for a child that is for the team alone, and the team is at the lock. */
static void holds_a_lock(void)
{
    int in_it = 0, children = 0, after = -1;
#pragma omp taskgroup
    {
        ompx_set_task_pool();
#pragma omp task shared(in_it, children)
#pragma omp critical
        {
            ADD(in_it, 1);
            usleep(100);
#pragma omp task shared(children)
            ADD(children, 1);
#pragma omp taskwait
        }
        for (int i = 0; i < 200 && !GET(in_it); i++)
            usleep(100); /* where there are no agents it does not come */
#pragma omp critical
        after = GET(in_it) ? GET(children) : 1;
    }
    CHECK_EQ(after, 1);
    CHECK_EQ(children, 1);
}

static int fulfilled;

static void *fulfils(void *event)
{
    usleep(3000);
    ADD(fulfilled, 1);
    omp_fulfill_event((omp_event_handle_t)event);
    return 0;
}

/* Does the child of a fork wait for an event? */
static int waits_in_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        pthread_t thread;
        omp_event_handle_t event;
#pragma omp taskgroup
        {
#pragma omp task detach(event)
            ;
            pthread_create(&thread, 0, fulfils, (void *)event);
        }
        int waited = GET(fulfilled) == 1;
        pthread_join(thread, 0);
        _exit(waited);
    }
    int status = -1;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A fork with nothing on the way: the child waits for events as ever. Not while an agent is about to leave,
 * whose tasks it takes for lost. */
static void forks_idle(void)
{
    int waited = 0;
    sums(50);
    for (int i = 0; i < 10 && !waited; i++) {
        usleep(1000 << i);
        waited = waits_in_child();
    }
    CHECK(waited);
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
    for (int i = 0; i < 20; i++)
        holds_a_lock();
    forks_idle();
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
