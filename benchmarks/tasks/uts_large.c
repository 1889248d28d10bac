/* The tree of uts.c at the size that people run: four million nodes, in subtrees from one node to a good part
 * of them all, and about 250 ns of work for each. Tied tasks, untied ones, and tasks that wait for none of
 * their children. */
#include "tree.h"

#include <omp.h>

enum { ROOT_CHILDREN = 2000, MANY = 8, THREADS = 1024, LINE = 16 };

/* 0.999 children on average. */
static const struct tree tree = {5, ROOT_CHILDREN, MANY, 80, 124875, 1000000};

static long nodes, expected;

/* Nodes that each thread has visited, on a pair of cache lines of its own. */
static long visited[THREADS][LINE];

static long sum_of(const long *counts, int children)
{
    long sum = 1;
    for (int i = 0; i < children; ++i)
        sum += counts[i];
    return sum;
}

static long visit_tied(unsigned long node)
{
    const int children = children_of(&tree, node);
    long counts[MANY];
    for (int i = 0; i < children; ++i) {
#pragma omp task shared(counts) firstprivate(i)
        counts[i] = visit_tied(child_of(&tree, node, i));
    }
#pragma omp taskwait
    return sum_of(counts, children);
}

static long visit_untied(unsigned long node)
{
    const int children = children_of(&tree, node);
    long counts[MANY];
    for (int i = 0; i < children; ++i) {
#pragma omp task untied shared(counts) firstprivate(i)
        counts[i] = visit_untied(child_of(&tree, node, i));
    }
#pragma omp taskwait
    return sum_of(counts, children);
}

static void visit_unwaited(unsigned long node)
{
    ++visited[omp_get_thread_num()][0];
    const int children = children_of(&tree, node);
    for (int i = 0; i < children; ++i) {
#pragma omp task firstprivate(i)
        visit_unwaited(child_of(&tree, node, i));
    }
}

static void prepare(void)
{
    if (expected == 0)
        expected = nodes_below(&tree, tree.root, tree.root_children);
    nodes = 0;
}

static void solve_tied(void)
{
    static long counts[ROOT_CHILDREN];
#pragma omp parallel num_threads(team_size)
#pragma omp single
    {
        for (int i = 0; i < ROOT_CHILDREN; ++i) {
#pragma omp task firstprivate(i)
            counts[i] = visit_tied(child_of(&tree, tree.root, i));
        }
    }
    nodes = sum_of(counts, ROOT_CHILDREN);
}

static void solve_untied(void)
{
    static long counts[ROOT_CHILDREN];
#pragma omp parallel num_threads(team_size)
#pragma omp single
    {
        for (int i = 0; i < ROOT_CHILDREN; ++i) {
#pragma omp task untied firstprivate(i)
            counts[i] = visit_untied(child_of(&tree, tree.root, i));
        }
    }
    nodes = sum_of(counts, ROOT_CHILDREN);
}

static void solve_unwaited(void)
{
    const int threads = team_size < THREADS ? team_size : THREADS;
    for (int t = 0; t < threads; ++t)
        visited[t][0] = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        ++visited[omp_get_thread_num()][0];
        for (int i = 0; i < ROOT_CHILDREN; ++i) {
#pragma omp task firstprivate(i)
            visit_unwaited(child_of(&tree, tree.root, i));
        }
    }
    for (int t = 0; t < threads; ++t)
        nodes += visited[t][0];
}

static const char *check(void)
{
    return nodes == expected ? NULL : "not the number of nodes";
}

const struct program uts_large_program = {"uts_large", prepare, solve_tied, check};
const struct program uts_untied_program = {"uts_untied", prepare, solve_untied, check};
const struct program uts_unwaited_program = {"uts_unwaited", prepare, solve_unwaited, check};
