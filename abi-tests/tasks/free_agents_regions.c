// what: free agents and the threads of their team: members that end while agents come, a fork in an agent's task and in the midst of some, children of agents outside of regions, tasks that reach the shelf
// ours: free agents are of this library alone
// compilers: gcc,clang>=19
// mode: link
// threads: 1,3,17
// timeout: 60
#include "check.h"
#include "ompx.h"
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#define ADD(what, n) __atomic_fetch_add(&what, n, __ATOMIC_RELAXED)
#define GET(what) __atomic_load_n(&what, __ATOMIC_ACQUIRE)
#define SET(what, n) __atomic_store_n(&what, n, __ATOMIC_RELEASE)
int omp_is_free_agent(void);
static int may; /* not where threads cannot share workers: under sanitizers */

/* The threads come to the end of the region at different times, and all that is there after it is tasks that
 * some of them have left. */
static void ends(int threads, int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int sum = 0, members = 0;
#pragma omp parallel num_threads(threads) shared(sum, members)
        {
            int me = omp_get_thread_num();
            if (me % 3 == round % 3)
                for (int i = 0; i < 1 + round % 5; i++) {
                    ompx_set_task_pool();
#pragma omp task shared(sum)
                    {
                        ompx_set_task_pool();
#pragma omp task shared(sum)
                        ADD(sum, 1);
                        ADD(sum, 1);
                    }
                }
            ADD(members, 1);
        }
        int with = 0;
        for (int me = 0; me < threads; me++)
            with += me % 3 == round % 3;
        CHECK_EQ(members, threads);
        CHECK_EQ(sum, 2 * with * (1 + round % 5));
    }
}

/* The members have left the region before its first task, and come back for it; agents come, too. */
static void comes_back(int threads)
{
    for (int round = 0; round < 100; round++) {
        int sum = 0, members = 0;
#pragma omp parallel num_threads(threads) shared(members) /* without tasks: so nobody stays in the next one \
                                                           */
        ADD(members, 1);
#pragma omp parallel num_threads(threads) shared(sum, members)
        {
            ADD(members, 1);
            if (omp_get_thread_num() == round % threads) {
                usleep(round % 4 * 50);
                for (int i = 0; i < 3; i++) {
                    ompx_set_task_pool();
#pragma omp task shared(sum)
                    ADD(sum, 1);
                    usleep(20);
                }
            }
        }
        CHECK_EQ(members, 2 * threads);
        CHECK_EQ(sum, 3);
    }
}

/* As above, in two inner regions at once. */
static void inner(void)
{
#pragma omp parallel num_threads(2)
    {
        ends(4, 40);
        comes_back(4);
    }
}

/* Each task does little, has a successor, and readies it at the end of a region. */
static void late(int threads)
{
    for (int round = 0; round < 100; round++) {
        int order = 0, wrong = 0;
#pragma omp parallel num_threads(threads) shared(order, wrong)
#pragma omp single nowait
        for (int i = 0; i < 6; i++) {
            ompx_set_task_pool();
#pragma omp task shared(order, wrong) firstprivate(i) depend(inout : order)
            {
                if (order != i)
                    ADD(wrong, 1);
                order = i + 1;
            }
        }
        CHECK_EQ(order, 6);
        CHECK_EQ(wrong, 0);
    }
}

/* ---- outside of regions: what agents make is for agents, too ---- */
static int refused, granted;
static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
    if (ompx_set_task_pool() == 0)
        ADD(granted, omp_is_free_agent());
    else
        ADD(refused, 1);
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

/* The thread that makes it runs no tasks; what it makes waits for its child, and that is left to others. */
static void polls(void)
{
    int flag = 0, wrong = 0;
    for (int round = 0; may && round < 30; round++) {
        SET(flag, 0);
        ompx_set_task_pool();
#pragma omp task shared(flag, wrong)
        {
            for (int i = 0; i < 40; i++) {
                if (i % 4 == 0)
                    ompx_set_task_pool();
#pragma omp task shared(flag) firstprivate(i)
                if (i % 4 == 0)
                    ADD(flag, 1);
            }
            if (!omp_is_free_agent())
                ADD(wrong, 1);
        }
        while (GET(flag) < 10)
            usleep(20);
        CHECK_EQ(wrong, 0);
#pragma omp taskwait
    }
}

/* ---- forks ---- */
static int ended(pid_t child)
{
    int status = -1;
    for (int i = 0; i < 2000; i++) {
        pid_t found = waitpid(child, &status, WNOHANG);
        if (found == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
        if (found < 0 && errno != EINTR)
            return 101;
        usleep(5000);
    }
    return 102; /* it does not end */
}

/* The child of an agent goes on with its task, and ends. */
static void forks_on_agents(void)
{
    int forked = 0, wrong = 0;
    for (int i = 0; may && i < 10; i++) {
        int done = 0;
        ompx_set_task_pool();
#pragma omp task shared(done, forked, wrong)
        {
            pid_t child = fork();
            if (child != 0) {
                int how = ended(child);
                if (how != 0) {
                    fprintf(stderr, "the child of a task: %d\n", how);
                    ADD(wrong, 1);
                }
                ADD(forked, 1);
                SET(done, 1);
            }
        }
        while (!GET(done))
            usleep(100);
#pragma omp taskwait
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(forked, may ? 10 : 0);
}

/* In the midst of the parent's tasks, some of which stand where the child finds them. Its own ones all end,
 * and it does. */
static void forks_in_the_midst(void)
{
    for (int round = 0; round < 10; round++) {
        int done = 0, mine = 0;
        for (int i = 0; i < 20; i++) {
            ompx_set_task_pool();
#pragma omp task shared(done)
            {
                usleep(100);
                ADD(done, 1);
            }
        }
        pid_t child = fork();
        if (child == 0) {
            int set = ompx_set_task_pool();
#pragma omp taskgroup
            for (int i = 0; i < 50; i++) {
                ompx_set_task_pool();
#pragma omp task shared(mine)
                ADD(mine, 1);
            }
            CHECK_EQ(set, -1);
            CHECK_EQ(mine, 50);
            ends(3, 20); /* regions of its own have agents */
            exit(check_failed != 0);
        }
        CHECK_EQ(ended(child), 0);
#pragma omp taskwait
        CHECK_EQ(done, 20);
    }
}

int main(void)
{
    int threads = 1;
    omp_set_max_active_levels(3);
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    may = ompx_set_task_pool() == 0;
#pragma omp task
    {
    }
    CHECK_EQ(fib(18), 2584);
    CHECK(!may || refused == 0);
    polls();
    forks_on_agents();
    forks_in_the_midst();
    ends(threads, 200);
    ends(17, 100);
    comes_back(17);
    inner();
    late(threads);
    polls();
    return check_result();
}
