/* A tree whose shape is not known in advance: a node's number of children follows from its own random number.
 */
#ifndef TREE_H
#define TREE_H
#include "programs.h"

struct tree {
    unsigned long root;
    int root_children, many;
    int hashes; /* the work for a node */
    /* Of `of` nodes below the root `parents` have `many` children, the others none. */
    unsigned parents, of;
};

static inline unsigned long child_of(const struct tree *tree, unsigned long node, int number)
{
    unsigned long state = node + (unsigned long)number * 0x9e3779b97f4a7c15ul;
    for (int i = 0; i < tree->hashes; ++i)
        state = mixed(state + 1);
    return state;
}

static inline int children_of(const struct tree *tree, unsigned long node)
{
    return node % tree->of < tree->parents ? tree->many : 0;
}

/* The nodes of the subtree of `node`, counted without tasks. */
static inline long nodes_below(const struct tree *tree, unsigned long node, int children)
{
    long count = 1;
    for (int i = 0; i < children; ++i) {
        const unsigned long child = child_of(tree, node, i);
        count += nodes_below(tree, child, children_of(tree, child));
    }
    return count;
}
#endif
