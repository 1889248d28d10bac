/* How much of the time of copies is covered by kernels, from when each began and ended. */
#ifndef OVERLAP_H
#define OVERLAP_H
#include <stdlib.h>

struct interval {
    double begin, end;
};

static inline int begins_before(const void *a, const void *b)
{
    double left = ((const struct interval *)a)->begin, right = ((const struct interval *)b)->begin;
    return (left > right) - (left < right);
}

/* Sorts them and makes those that meet into one. Returns how many are left. */
static inline size_t unite(struct interval *all, size_t count)
{
    qsort(all, count, sizeof *all, begins_before);
    size_t left = 0;
    for (size_t i = 0; i < count; i++)
        if (left > 0 && all[i].begin <= all[left - 1].end)
            all[left - 1].end = all[i].end > all[left - 1].end ? all[i].end : all[left - 1].end;
        else
            all[left++] = all[i];
    return left;
}

static inline double length(const struct interval *all, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += all[i].end - all[i].begin;
    return sum;
}

/* The time that is in both; both are united. */
static inline double in_both(const struct interval *a, size_t count_a, const struct interval *b,
                             size_t count_b)
{
    double sum = 0;
    for (size_t i = 0, j = 0; i < count_a && j < count_b;) {
        double begin = a[i].begin > b[j].begin ? a[i].begin : b[j].begin,
               end = a[i].end < b[j].end ? a[i].end : b[j].end;
        sum += end > begin ? end - begin : 0;
        if (a[i].end < b[j].end)
            i++;
        else
            j++;
    }
    return sum;
}

/* What the recorder knows of everything since it was last asked to begin. Times in ms. */
struct recorded {
    long copies, kernels;
    size_t bytes;
    double copying;    /* time in which at least one copy was under way */
    double computing;  /* the same of kernels */
    double overlapped; /* time in which both were */
};
#endif
