// what: tasks for free agents (threadset(omp_pool), OpenMP 6.0 14.8): each runs once, in the scope of its region, agents are no threads of the team, and all that waits for tasks waits for these
// ours: the flag is newer than the compilers, and other runtimes have no free agents
// compilers: gcc,clang>=19
// mode: link
// timeout: 60
// The entry points are called as clang 22 calls them: 0x80 in the flags of a task.
#include "check.h"
#include "ompx.h"
#include <stdint.h>
#include <string.h>
#include <unistd.h>

typedef struct kmp_task {
    void *shareds;
    int (*routine)(int, struct kmp_task *);
    int part;
    void *destructors, *priority;
    long value, other; /* private */
    uint64_t lower, upper;
    int64_t stride;
    int last;
} kmp_task;
struct depend {
    uintptr_t base;
    size_t length;
    unsigned char flags;
};
int __kmpc_global_thread_num(void *);
kmp_task *__kmpc_omp_task_alloc(void *, int, int, size_t, size_t, int (*)(int, kmp_task *));
int __kmpc_omp_task(void *, int, kmp_task *);
int __kmpc_omp_task_with_deps(void *, int, kmp_task *, int, const struct depend *, int,
                              const struct depend *);
int __kmpc_omp_taskwait(void *, int);
void __kmpc_taskloop(void *, int, kmp_task *, int, uint64_t *, uint64_t *, int64_t, int, int, uint64_t,
                     void *);
void *__kmpc_task_allow_completion_event(void *, int, kmp_task *);
int omp_in_explicit_task(void), omp_is_free_agent(void), omp_ancestor_is_free_agent(int);

/* So that it builds without the library, too. */
#pragma weak __kmpc_global_thread_num
#pragma weak __kmpc_omp_task_alloc
#pragma weak __kmpc_omp_task
#pragma weak __kmpc_omp_task_with_deps
#pragma weak __kmpc_omp_taskwait
#pragma weak __kmpc_taskloop
#pragma weak __kmpc_task_allow_completion_event
#pragma weak omp_is_free_agent
#pragma weak omp_ancestor_is_free_agent
#pragma weak omp_in_explicit_task
#pragma weak ompx_set_task_pool

enum { TIED = 1, POOL = 0x80, DETACHABLE = 0x40, UNASSIGNED = -2, MANY = 400 };
#define ADD(what, n) __atomic_fetch_add(&what, n, __ATOMIC_RELAXED)
#define GET(what) __atomic_load_n(&what, __ATOMIC_ACQUIRE)
#define SET(what, n) __atomic_store_n(&what, n, __ATOMIC_RELEASE)

static kmp_task *make(int flags, int (*code)(int, kmp_task *), long value)
{
    kmp_task *task = __kmpc_omp_task_alloc(0, __kmpc_global_thread_num(0), flags, sizeof *task, 0, code);
    task->value = value;
    return task;
}

static void start(kmp_task *task)
{
    __kmpc_omp_task(0, __kmpc_global_thread_num(0), task);
}

static int size_outside, level_outside, wrong, by_agents;
static long sum;

/* What holds in any task of the region that this is set for. */
static void look(void)
{
    int agent = omp_is_free_agent(), num = omp_get_thread_num();
    int right = agent ? num == UNASSIGNED : num >= 0 && num < GET(size_outside);
    right &= omp_get_num_threads() == GET(size_outside) && omp_get_level() == GET(level_outside) &&
             omp_in_explicit_task();
    right &= omp_ancestor_is_free_agent(omp_get_level()) == agent &&
             !omp_ancestor_is_free_agent(omp_get_level() + 1);
    right &= !omp_ancestor_is_free_agent(-1) && omp_get_ancestor_thread_num(omp_get_level()) == num;
    if (!right)
        ADD(wrong, 1);
    ADD(by_agents, agent);
}

static int adds(int gtid, kmp_task *task)
{
    (void)gtid;
    look();
    ADD(sum, task->value);
    return 0;
}

/* Not for agents, whoever makes it; in a team of one an agent runs it at once if it has made it itself. */
static int adds_in_team(int gtid, kmp_task *task)
{
    if ((omp_is_free_agent() || omp_get_thread_num() < 0) && omp_get_num_threads() > 1)
        ADD(wrong, 1);
    return adds(gtid, task);
}

/* A tree of pool tasks in which each node waits for its children; every third child is for the team alone. */
static int tree(int gtid, kmp_task *task)
{
    (void)gtid;
    look();
    if (task->value > 0) {
        start(make(TIED | POOL, tree, task->value - 1));
        start(make(TIED | POOL, tree, task->value - 1));
        start(make(TIED, adds_in_team, 1));
        if (task->value & 1)
            __kmpc_omp_taskwait(0, __kmpc_global_thread_num(0));
    }
    ADD(sum, 1);
    return 0;
}
static long nodes(long depth)
{
    return depth ? 2 * nodes(depth - 1) + 2 : 1;
}

static void expect(long value, const char *where)
{
    long found = __atomic_exchange_n(&sum, 0, __ATOMIC_ACQ_REL);
    if (found != value || GET(wrong)) {
        fprintf(stderr, "%s: %ld instead of %ld, %d tasks saw a wrong scope\n", where, found, value,
                GET(wrong));
        exit(1);
    }
}

static void here_is(int size, int level)
{
    SET(size_outside, size);
    SET(level_outside, level);
}

/* By the calling thread, in a region of `size` threads: all ways to wait. */
static void waits(const char *where)
{
    for (int i = 0; i < MANY; i++)
        start(make(TIED | POOL, adds, 1));
    __kmpc_omp_taskwait(0, 0);
    expect(MANY, where);
    for (int i = 0; i < MANY; i++)
        start(make(POOL, adds, 1)); /* untied */
    __kmpc_omp_taskwait(0, 0);
    expect(MANY, where);
#pragma omp taskgroup
    start(make(TIED | POOL, tree, 9));
    expect(nodes(9), where);
}

/* ---- dependences: a chain, and readers between its links ---- */
static long place;
static int writes(int gtid, kmp_task *task)
{
    (void)gtid;
    look();
    if (place != task->value)
        ADD(wrong, 1);
    place++;
    ADD(sum, 1);
    return 0;
}
static int reads(int gtid, kmp_task *task)
{
    (void)gtid;
    look();
    if (place != task->value)
        ADD(wrong, 1);
    ADD(sum, 1);
    return 0;
}
static void depends(const char *where)
{
    const struct depend out = {(uintptr_t)&place, 8, 3}, in = {(uintptr_t)&place, 8, 1};
    place = 0;
    for (int i = 0; i < 100; i++) {
        __kmpc_omp_task_with_deps(0, 0, make(TIED | (i % 5 ? POOL : 0), writes, i), 1, &out, 0, 0);
        for (int k = 0; k < 3; k++)
            __kmpc_omp_task_with_deps(0, 0, make(TIED | (k ? POOL : 0), reads, i + 1), 1, &in, 0, 0);
    }
    __kmpc_omp_taskwait(0, 0);
    expect(400, where);
}

/* ---- taskloop ---- */
static int part(int gtid, kmp_task *task)
{
    (void)gtid;
    look();
    for (uint64_t i = task->lower; i <= task->upper; i++)
        ADD(sum, (long)i);
    return 0;
}
static void loops(const char *where)
{
    kmp_task *task = make(TIED | POOL, part, 0);
    task->lower = 1, task->upper = 1000, task->stride = 1;
    __kmpc_taskloop(0, 0, task, 1, &task->lower, &task->upper, 1, 0, 0, 0, 0);
    expect(500500, where);
}

/* ---- detach ---- */
static void *event;
static int detached(int gtid, kmp_task *task)
{
    adds(gtid, task);
    SET(event, *(void **)&task->other);
    return 0;
}
static int fulfils(int gtid, kmp_task *task)
{
    adds(gtid, task);
    omp_fulfill_event((omp_event_handle_t)(uintptr_t)*(void **)&task->other);
    return 0;
}
static void detaches(const char *where)
{
    for (int i = 0; i < 20; i++) {
        kmp_task *task = make(TIED | POOL | DETACHABLE, detached, 1);
        void *its = __kmpc_task_allow_completion_event(0, 0, task);
        memcpy(&task->other, &its, sizeof its);
        start(task);
        kmp_task *second = make(TIED | POOL, fulfils, 2);
        memcpy(&second->other, &its, sizeof its);
        start(second);
    }
    __kmpc_omp_taskwait(0, 0);
    expect(60, where);
}

/* ---- one task that somebody else has to run: its maker does nothing else, at no scheduling point ---- */
static int flag;
static int raises(int gtid, kmp_task *task)
{
    adds(gtid, task);
    SET(flag, 1);
    return 0;
}
static void runs_beside(void)
{
    for (int i = 0; i < 50; i++) {
        SET(flag, 0);
        start(make(TIED | POOL, raises, 1));
        while (!GET(flag))
            usleep(20);
    }
    __kmpc_omp_taskwait(0, 0);
    expect(50, "beside a thread that does not wait");
}

/* ---- a region inside of a pool task ---- */
static int forks(int gtid, kmp_task *task)
{
    (void)gtid;
    (void)task;
    int agent = omp_is_free_agent(), level = omp_get_level();
#pragma omp parallel num_threads(3)
    {
        int primary = omp_get_thread_num() == 0;
        if (omp_is_free_agent() != (agent && primary) || omp_ancestor_is_free_agent(level) != agent ||
            omp_get_level() != level + 1)
            ADD(wrong, 1);
#pragma omp barrier
#pragma omp for
        for (int i = 0; i < 30; i++)
            ADD(sum, 1);
    }
    return 0;
}

/* ---- the routine for other compilers ---- */
static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
    ompx_set_task_pool();
#pragma omp task shared(a)
    {
        look();
        a = fib(n - 1);
    }
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

static void reduces(void)
{
    long total = 0;
    int set = 0;
#pragma omp taskgroup task_reduction(+ : total)
    for (int i = 0; i < 100; i++) {
        set |= ompx_set_task_pool() == 0;
#pragma omp task in_reduction(+ : total)
        {
            if (omp_is_free_agent())
                ADD(wrong, 1);
            total += i;
        }
    }
    CHECK_EQ(total, 4950);
    CHECK_EQ(set, 0); /* there is a copy for each thread of the team */
    total = 0;
    ompx_set_task_pool();
#pragma omp taskloop shared(total)
    for (int i = 0; i < 1000; i++) {
        look();
        ADD(total, i);
    }
    CHECK_EQ(total, 499500);
}

static void everything(int size, int level, const char *where)
{
    here_is(size, level);
    waits(where);
    depends(where);
    loops(where);
    detaches(where);
    CHECK_EQ(fib(15), 610);
    reduces();
    expect(0, where);
}

int main(void)
{
    omp_set_max_active_levels(3);
    everything(1, 0, "outside of regions");
    runs_beside();
    for (int i = 0; i < 20; i++)
        start(make(TIED | POOL, forks, 0));
    __kmpc_omp_taskwait(0, 0);
    expect(600, "regions of agents");
    int threads = 1,
        may = ompx_set_task_pool() == 0; /* not where threads cannot share workers: under sanitizers */
#pragma omp task
    {
    }
#pragma omp parallel
#pragma omp single
    threads = omp_get_num_threads();
    for (int round = 0; round < 3; round++) {
        here_is(threads, 1);
#pragma omp parallel
        {
#pragma omp single
            everything(threads, 1, "in a region");
#pragma omp barrier
            for (int i = 0; i < 20; i++)
                start(make(TIED | POOL, tree, 4));
#pragma omp barrier
            if (omp_get_thread_num() == 0)
                expect(20L * threads * nodes(4), "at a barrier");
#pragma omp barrier
            for (int i = 0; i < 20; i++)
                start(make(TIED | POOL, tree, 5));
        }
        expect(20L * threads * nodes(5), "at the end of a region");
        everything(1, 0, "outside, again");
        runs_beside();
    }
#pragma omp parallel num_threads(2)
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        here_is(2, 2);
        for (int i = 0; i < 50; i++)
            start(make(TIED | POOL, tree, 3));
    }
    expect(100 * nodes(3), "in inner regions");
    CHECK((by_agents > 0) == may);
    CHECK(!omp_is_free_agent() && omp_get_thread_num() == 0);
    return check_result();
}
