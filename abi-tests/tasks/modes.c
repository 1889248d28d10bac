// what: a task runs in the floating-point mode of the thread that executes it, when it starts and after each wait, and leaves the thread in the mode that it has set
// compilers: gcc,clang>=19
// mode: preload
// threads: 1,2,6,17
#include "modes.h"

static void wait_for_children(struct modes *modes, int yields)
{
    LOOK(modes);
    if (yields) {
#pragma omp taskyield
        LOOK(modes);
    }
#pragma omp taskwait
    LOOK(modes);
}

/* Tied tasks, some of which change the mode before they wait, some after. */
static void tree(struct modes *modes, int depth, unsigned seed)
{
    LOOK(modes);
    if (seed % 3 == 0)
        change(modes, seed);
    for (unsigned i = 0; depth && i < 3; i++) {
#pragma omp task
        tree(modes, depth - 1, seed * 3 + i);
    }
    wait_for_children(modes, seed % 2);
    if (seed % 5 == 0)
        change(modes, seed / 5);
}

static void untied_tree(struct modes *modes, int depth, unsigned seed)
{
    LOOK(modes);
    if (seed % 3 == 0)
        change(modes, seed);
    for (unsigned i = 0; depth && i < 3; i++) {
#pragma omp task untied
        untied_tree(modes, depth - 1, seed * 3 + i);
    }
#pragma omp taskwait
    LOOK(modes);
}

/* Tasks in a taskgroup, in a chain of dependences, and of a loop. */
static void other_constructs(struct modes *modes, unsigned seed)
{
    int chain = 0;
#pragma omp taskgroup
    for (int i = 0; i < 20; i++) {
#pragma omp task depend(inout : chain) firstprivate(i) shared(chain)
        {
            LOOK(modes);
            chain += i;
            change(modes, seed + i);
        }
#pragma omp task depend(in : chain)
        tree(modes, 1, seed + i);
    }
    LOOK(modes);
    CHECK_EQ(chain, 190);
#pragma omp taskloop grainsize(1)
    for (int i = 0; i < 30; i++) {
        LOOK(modes);
        if (i % 4 == 0)
            change(modes, seed + i);
    }
    LOOK(modes);
}

/* A task that waits for a lock whose owner waits in the middle: other code runs as both threads meanwhile. */
static void in_critical(struct modes *modes, unsigned seed)
{
    for (unsigned i = 0; i < 10; i++) {
#pragma omp task
        {
            LOOK(modes);
#pragma omp critical
            {
                LOOK(modes);
                change(modes, seed + i);
            }
            LOOK(modes);
        }
    }
}

/* Thread 0 of an inner team is the thread that forks it. In the end it is in the mode of the fork, in which
 * libomp leaves it in any case. */
static void nested(struct modes *outer, unsigned seed)
{
    struct modes inner = {{0}};
    int mode = outer->left[omp_get_thread_num()];
    LOOK(outer);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0)
            inner.left[0] = mode;
        else
            change(&inner, seed);
        LOOK(&inner);
#pragma omp barrier
        tree(&inner, 2, seed + omp_get_thread_num());
#pragma omp barrier
        change(&inner, mode);
    }
    LOOK(outer);
}

/* All threads meet in code of their own: those that share a worker are interrupted. */
static void meet(int *arrived)
{
    __atomic_fetch_add(arrived, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(arrived, __ATOMIC_SEQ_CST) < omp_get_num_threads())
        ;
}

static void region(struct modes *modes, int round)
{
    int arrived = 0;
#pragma omp parallel
    {
        unsigned me = omp_get_thread_num();
        change(modes, me + round);
        if (round == 0)
            meet(&arrived);
        LOOK(modes);
#pragma omp barrier
        LOOK(modes);
#pragma omp single
        tree(modes, 4, round);
        LOOK(modes);
        untied_tree(modes, 2, me + round);
#pragma omp barrier
        LOOK(modes);
#pragma omp single
        other_constructs(modes, round);
        LOOK(modes);
        in_critical(modes, me);
#pragma omp barrier
        LOOK(modes);
        if (me < 4) {
#pragma omp task
            nested(modes, me);
        }
#pragma omp barrier
        LOOK(modes);
    }
}

int main(void)
{
    struct modes modes = {{0}};
    omp_set_max_active_levels(2);
    int initial = mode_now();
    for (int round = 0; round < 3; round++) {
        region(&modes, round);
        put_mode(initial);
    }
    return check_result();
}
