/* Counts the nodes of a tree whose shape nobody knows before: a node's number of children follows from its
 * own random number. Every node is a task, and the smallest piece of work that still is one. */
#include "programs.h"

enum { ROOT_CHILDREN = 2000, MANY = 8, HASHES = 24 };

/* Of 1000 nodes below the root so many have MANY children, the others none: 0.99 children on average. */
static const unsigned parents = 124;

static long nodes, expected;

static unsigned long child_of(unsigned long node, int number)
{
    unsigned long state = node + (unsigned long)number * 0x9e3779b97f4a7c15ul;
    for (int i = 0; i < HASHES; ++i)
        state = mixed(state + 1);
    return state;
}

static int children_of(unsigned long node)
{
    return node % 1000 < parents ? MANY : 0;
}

static long serially(unsigned long node, int children)
{
    long count = 1;
    for (int i = 0; i < children; ++i) {
        const unsigned long child = child_of(node, i);
        count += serially(child, children_of(child));
    }
    return count;
}

static long visit(unsigned long node, int children)
{
    long counts[ROOT_CHILDREN > MANY ? ROOT_CHILDREN : MANY], sum = 1;
    for (int i = 0; i < children; ++i) {
#pragma omp task shared(counts) firstprivate(i)
        {
            const unsigned long child = child_of(node, i);
            counts[i] = visit(child, children_of(child));
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
        expected = serially(42, ROOT_CHILDREN);
    nodes = 0;
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    nodes = visit(42, ROOT_CHILDREN);
}

static const char *check(void)
{
    return nodes == expected ? NULL : "not the number of nodes";
}

const struct program uts_program = {"uts", prepare, solve, check};
