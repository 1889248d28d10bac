/* Graphs of 1,000 tasks, made anew each time and executed again from a recording. Nanoseconds for
 * one task.
 *
 * The recording is made by `ompx_taskgraph_*` (include/ompx.h): no compiler emits `taskgraph` yet.
 * libgomp has nothing of the kind, and LLVM's libomp as it is packaged is built without its record
 * and replay entries. */
#include "probe.h"

#include "ompx.h"
#include <omp.h>
#include <stddef.h>

/* So that the program starts with other runtimes, too. */
#pragma weak ompx_taskgraph_begin
#pragma weak ompx_taskgraph_end

enum { TASKS = 1000, CHAINS = 8, LINKS = TASKS / CHAINS };

static char each[TASKS];

/* One counter for each chain, on a line of its own. */
static struct {
    long value;
    char pad[56];
} chains[CHAINS];

static void make_independent(void)
{
    for (int j = 0; j < TASKS; ++j) {
#pragma omp task depend(inout : each[j])
        NOTHING;
    }
}

/* The chains grow side by side. */
static void make_chains(void)
{
    for (int j = 0; j < TASKS; ++j) {
        const int k = j % CHAINS;
#pragma omp task depend(inout : chains[k]) firstprivate(k)
        ++chains[k].value;
    }
}

static long links_done(void)
{
    for (int k = 1; k < CHAINS; ++k)
        if (chains[k].value != chains[0].value)
            wrong("chains of different lengths");
    return chains[0].value;
}

static void anew(void (*make)(void), long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp taskgroup
        make();
    }
}

static void replay(ompx_taskgraph_t **graph, void (*make)(void), long times)
{
    if (ompx_taskgraph_begin == NULL)
        wrong("this runtime records no graphs");
    int made = 0;
    const int is_new = *graph == NULL;
    for (long i = 0; i < times; ++i) {
        if (ompx_taskgraph_begin(graph)) {
            make();
            ++made;
        }
        ompx_taskgraph_end(graph);
    }
    if (made != is_new)
        wrong("the graph was not recorded exactly once");
}

static void anew_independent(long times)
{
#pragma omp parallel
#pragma omp single
    anew(make_independent, times);
}

static void anew_chains(long times)
{
    const long before = links_done();
#pragma omp parallel
#pragma omp single
    anew(make_chains, times);
    if (links_done() != before + times * LINKS)
        wrong("tasks of a chain overlapped");
}

static void replay_independent(long times)
{
    static ompx_taskgraph_t *graph;
#pragma omp parallel
#pragma omp single
    replay(&graph, make_independent, times);
}

static void replay_chains(long times)
{
    static ompx_taskgraph_t *graph;
    const long before = links_done();
#pragma omp parallel
#pragma omp single
    replay(&graph, make_chains, times);
    if (links_done() != before + times * LINKS)
        wrong("tasks of a chain overlapped");
}

const struct probe replay_probes[] = {
    {"anew_independent", anew_independent, TASKS, 0, 0, 0},
    {"replay_independent", replay_independent, TASKS, 0, 0, 0},
    {"anew_chains", anew_chains, TASKS, 0, 0, 0},
    {"replay_chains", replay_chains, TASKS, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};
