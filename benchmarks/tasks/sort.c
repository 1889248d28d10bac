/* Merge sort of random integers: data, the short stretches, and the check. The recursion is in sort_tasks.c
 * and in tbb.cpp. */
#include "suite.h"

#include <stdlib.h>

enum { SHORT = 16 };

int *sort_data, *sort_scratch;
static unsigned long sum_before;

/* Changes with every element, not with their order. */
static unsigned long fingerprint(void)
{
    unsigned long sum = 0;
    for (long i = 0; i < SORT_COUNT; ++i)
        sum += mixed((unsigned long)sort_data[i]);
    return sum;
}

void sort_prepare(void)
{
    if (sort_data == NULL) {
        sort_data = allocate(SORT_COUNT, sizeof *sort_data);
        sort_scratch = allocate(SORT_COUNT, sizeof *sort_scratch);
    }
    unsigned long state = 3;
    for (long i = 0; i < SORT_COUNT; ++i)
        sort_data[i] = (int)(next_random(&state) >> 33);
    sum_before = fingerprint();
}

const char *sort_check(void)
{
    for (long i = 1; i < SORT_COUNT; ++i)
        if (sort_data[i - 1] > sort_data[i])
            return "not in order";
    return fingerprint() == sum_before ? NULL : "not the same numbers";
}

static void insertion(int *from, long count)
{
    for (long i = 1; i < count; ++i) {
        const int value = from[i];
        long j = i;
        for (; j > 0 && from[j - 1] > value; --j)
            from[j] = from[j - 1];
        from[j] = value;
    }
}

static int middle(int a, int b, int c)
{
    const int low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : c > high ? high : c;
}

/* Quicksort. */
void sort_leaf(int *from, long count)
{
    while (count > SHORT) {
        const int pivot = middle(from[0], from[count / 2], from[count - 1]);
        long low = 0, high = count - 1;
        while (low <= high) {
            while (from[low] < pivot)
                ++low;
            while (from[high] > pivot)
                --high;
            if (low <= high) {
                const int other = from[low];
                from[low++] = from[high];
                from[high--] = other;
            }
        }
        sort_leaf(from, high + 1);
        from += low;
        count -= low;
    }
    insertion(from, count);
}

void merge_leaf(const int *a, long count_a, const int *b, long count_b, int *to)
{
    const int *const end_a = a + count_a, *const end_b = b + count_b;
    while (a < end_a && b < end_b)
        *to++ = *b < *a ? *b++ : *a++;
    while (a < end_a)
        *to++ = *a++;
    while (b < end_b)
        *to++ = *b++;
}

long rank_of(int value, const int *from, long count)
{
    long low = 0, high = count;
    while (low < high) {
        const long half = (low + high) / 2;
        if (from[half] < value)
            low = half + 1;
        else
            high = half;
    }
    return low;
}
