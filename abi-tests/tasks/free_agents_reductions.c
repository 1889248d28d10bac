// what: free agents and task reductions, whose copies are counted by the threads of the team; wishes that no task follows, or not the one that was meant
// ours: free agents are of this library alone
// compilers: gcc,clang>=19
// mode: link
// env: GANGWAY_WORKERS=6
// threads: 1,3,8
#include "check.h"
#include "ompx.h"
#include <omp.h>
#include <unistd.h>

#define ADD(what, n) __atomic_fetch_add(&what, n, __ATOMIC_RELAXED)
#define GET(what) __atomic_load_n(&what, __ATOMIC_ACQUIRE)
int omp_is_free_agent(void);
static int on_agents;

static long leaf(long n)
{
    long sum = 0;
    for (long i = 0; i <= n; i++)
        sum += i;
    return sum;
}

/* The wish comes before what makes the copies. */
static void wishes_before(void)
{
    long total = 0;
    ompx_set_task_pool();
#pragma omp taskloop reduction(+ : total)
    for (int i = 0; i < 1000; i++)
        total += i;
    CHECK_EQ(total, 499500);
    total = 0;
    ompx_set_task_pool();
#pragma omp taskgroup task_reduction(+ : total)
    for (int i = 0; i < 200; i++) {
        if (i % 2)
            ompx_set_task_pool();
#pragma omp task in_reduction(+ : total) firstprivate(i)
        total += i;
    }
    CHECK_EQ(total, 19900);
}

/* In a task that an agent may run. */
static long sums(int n)
{
    long total = 0, inner = 0;
    int left = 0;
#pragma omp taskgroup task_reduction(+ : total)
    {
        for (int i = 0; i < n; i++) {
#pragma omp task in_reduction(+ : total) firstprivate(i)
            {
                total += i;
#pragma omp task in_reduction(+ : total)
                total += 1;
            }
        }
#pragma omp taskgroup task_reduction(+ : inner)
        for (int i = 0; i < n; i++) {
            ompx_set_task_pool();
#pragma omp task in_reduction(+ : inner) in_reduction(+ : total)
            {
                inner += 1;
                total += 1;
            }
        }
#pragma omp task in_reduction(+ : total)
        total += 1;
    }
#pragma omp taskloop reduction(+ : inner)
    for (int i = 0; i < n; i++)
        inner += 1;
#pragma omp task shared(left)
    left = 1;
#pragma omp taskwait
    return left && inner == 2 * n ? total : -1;
}

static void check_sums(int n, int *wrong)
{
    int is_agent = omp_is_free_agent();
    ADD(on_agents, is_agent);
    /* The groups with reductions that tasks before this one had open have left nothing. */
    if (is_agent && omp_get_thread_num() != -2 && !omp_in_final())
        ADD(*wrong, 1);
    if (sums(n) != leaf(n - 1) + 2 * n + 1)
        ADD(*wrong, 1);
}

/* In a group of an agent's task: those that wait for others have the agent's copy, too. */
static int after_others(void)
{
    long total = 0;
    int before = 0, late = 0;
#pragma omp task depend(out : before) shared(before)
    {
        usleep(100);
        ADD(before, 1);
    }
#pragma omp taskgroup task_reduction(+ : total)
    {
#pragma omp task in_reduction(+ : total) depend(in : before) shared(late, before)
        {
            ADD(late, GET(before) != 1);
            for (int i = 0; i < 20000; i++) {
                total++;
                __asm__ volatile("" ::: "memory");
            }
        }
#pragma omp task in_reduction(+ : total)
        for (int i = 0; i < 300000; i++) { /* until after the other has begun */
            total++;
            __asm__ volatile("" ::: "memory");
        }
    }
    return total == 320000 && !late;
}

static void groups_of_agents(void)
{
    int right = 0;
#pragma omp taskgroup
    for (int i = 0; i < 12; i++) {
        ompx_set_task_pool();
#pragma omp task shared(right)
        ADD(right, after_others());
    }
    CHECK_EQ(right, 12);
}

/* Thread 0, whose copy the agents' tasks use, is there for what waits. */
static void beside_thread_0(void)
{
#pragma omp parallel num_threads(2)
#pragma omp master
    for (int i = 0; i < 5; i++)
        groups_of_agents();
}

/* A wish before a graph is run again: its tasks are what they were. */
static void replays(void)
{
    static ompx_taskgraph_t *graph;
    long sum = 0;
    for (int round = 0; round < 20; round++) {
        int others = 0;
        for (int i = 0; i < 20; i++) {
            ompx_set_task_pool();
#pragma omp task shared(others)
            ADD(others, 1);
        }
        if (round)
            ompx_set_task_pool();
        if (ompx_taskgraph_begin(&graph))
            for (int i = 0; i < 10; i++) {
#pragma omp task shared(sum)
                ADD(sum, 1);
            }
        ompx_taskgraph_end(&graph);
#pragma omp taskwait
        CHECK_EQ(others, 20);
    }
    CHECK_EQ(sum, 200);
    ompx_taskgraph_destroy(&graph);
}

static void inside(void)
{
    int wrong = 0, n = 30;
#pragma omp taskgroup
    for (int i = 0; i < 40; i++) {
        ompx_set_task_pool();
#pragma omp task shared(wrong) firstprivate(n)
        check_sums(n, &wrong);
#ifndef __clang__ /* whose code for such a group in an untied task crashes with its own runtime, too */
        ompx_set_task_pool();
#pragma omp task untied shared(wrong) firstprivate(n)
        {
            long total = 0;
#pragma omp taskgroup task_reduction(+ : total)
            for (int k = 0; k < n; k++) {
#pragma omp task in_reduction(+ : total)
                total += 1;
            }
            if (total != n)
                ADD(wrong, 1);
        }
#endif
    }
    CHECK_EQ(wrong, 0);
}

/* A task wishes and makes none; what its parent makes next is as ever. */
static void none_follows(void)
{
    int alone = omp_get_num_threads() == 1, here = 1, later = 0, me = omp_get_thread_num();
#pragma omp task if (0) shared(here)
    ompx_set_task_pool();
#pragma omp task shared(later)
    later = 1;
    if (alone)
        CHECK_EQ(GET(later), 1); /* run at once */
#pragma omp taskwait
    CHECK_EQ(GET(later), 1);
#ifndef __clang__ /* which does not tell of such a loop */
    /* A loop without iterations, then a task: of the team, and of nobody else. */
    int none = 0, other = 0;
    ompx_set_task_pool();
#pragma omp taskloop shared(none)
    for (int i = 0; i < none; i++)
        ADD(none, 1);
    for (int i = 0; i < 20; i++) {
#pragma omp task shared(other)
        ADD(other, omp_is_free_agent());
    }
#pragma omp taskwait
    CHECK_EQ(none, 0);
    CHECK_EQ(other, 0);
#endif
    CHECK(here && me >= 0);
}

static void everything(void)
{
    for (int round = 0; round < 5; round++) {
        wishes_before();
        inside();
        groups_of_agents();
        replays();
        none_follows();
    }
}

int main(void)
{
    everything();
#pragma omp parallel
#pragma omp single
    everything();
#pragma omp parallel num_threads(1)
    everything();
    beside_thread_0();
    everything();
    return check_result();
}
