/* Counts the nodes of a tree whose shape nobody knows before: a node's number of children follows from its
 * own random number. Every node is a task, and the smallest piece of work that still is one. */
#include "tree.h"

enum { ROOT_CHILDREN = 2000, MANY = 8 };

/* 0.99 children on average. */
static const struct tree tree = {42, ROOT_CHILDREN, MANY, 24, 124, 1000};

static long nodes, expected;

static long visit(unsigned long node, int children)
{
    long counts[ROOT_CHILDREN > MANY ? ROOT_CHILDREN : MANY], sum = 1;
    for (int i = 0; i < children; ++i) {
#pragma omp task shared(counts) firstprivate(i)
        {
            const unsigned long child = child_of(&tree, node, i);
            counts[i] = visit(child, children_of(&tree, child));
        }
    }
#pragma omp taskwait
    for (int i = 0; i < children; ++i)
        sum += counts[i];
    return sum;
}

static void prepare(void)
{
    if (expected == 0)
        expected = nodes_below(&tree, tree.root, tree.root_children);
    nodes = 0;
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    nodes = visit(tree.root, tree.root_children);
}

static const char *check(void)
{
    return nodes == expected ? NULL : "not the number of nodes";
}

const struct program uts_program = {"uts", prepare, solve, check};
