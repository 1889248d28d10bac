/* Loops, sections and ordered. `dynamic` and its like count one iteration; the others count one construct. */
#include "probe.h"

#include <omp.h>

enum { ITERATIONS = 10000, ORDERED = 1000 };

/* Iterations a thread has run are added up, so that a loop that loses some is noticed. */
#define LOOP(name, clauses, count) \
    static void name(long times) \
    { \
        long sum = 0; \
        _Pragma("omp parallel reduction(+ : sum)") for (long i = 0; i < times; ++i) \
        { \
            _Pragma(clauses) for (long j = 0; j < (count); ++j) \
            { \
                NOTHING; \
                ++sum; \
            } \
        } \
        if (sum != times * (count)) \
            wrong(#name); \
    }

LOOP(for_static, "omp for schedule(static)", team_size)
LOOP(for_static_1, "omp for schedule(static, 1)", ITERATIONS)
LOOP(dynamic, "omp for schedule(dynamic, 1)", ITERATIONS)
LOOP(dynamic_16, "omp for schedule(dynamic, 16)", ITERATIONS)
LOOP(guided, "omp for schedule(guided)", ITERATIONS)
LOOP(for_dynamic, "omp for schedule(dynamic)", team_size)

static void parallel_for(long times)
{
    for (long i = 0; i < times; ++i) {
#pragma omp parallel for schedule(static)
        for (int j = 0; j < team_size; ++j)
            NOTHING;
    }
}

static void sections(long times)
{
    long count = 0;
#pragma omp parallel reduction(+ : count)
    for (long i = 0; i < times; ++i) {
#pragma omp sections
        {
#pragma omp section
            ++count;
#pragma omp section
            ++count;
        }
    }
    if (count != 2 * times)
        wrong("sections");
}

static void ordered(long times)
{
    int fine = 1;
    long next = 0;
#pragma omp parallel
    for (long i = 0; i < times; ++i) {
#pragma omp for ordered schedule(static, 1)
        for (long j = 0; j < ORDERED; ++j) {
#pragma omp ordered
            {
                fine = fine && next == i * ORDERED + j;
                ++next;
            }
        }
    }
    if (!fine || next != times * ORDERED)
        wrong("ordered");
}

const struct probe worksharing_probes[] = {
    {"for", for_static, 1, 0, 0, 0},
    {"for_dynamic", for_dynamic, 1, 0, 0, 0},
    {"parallel_for", parallel_for, 1, 0, 0, 0},
    {"sections", sections, 1, 0, 0, 0},
    {"static_1", for_static_1, ITERATIONS, 0, 0, 0},
    {"dynamic", dynamic, ITERATIONS, 0, 0, 0},
    {"dynamic_16", dynamic_16, ITERATIONS, 0, 0, 0},
    {"guided", guided, ITERATIONS, 0, 0, 0},
    {"ordered", ordered, ORDERED, 0, 0, 0},
    {0, 0, 0, 0, 0, 0},
};
