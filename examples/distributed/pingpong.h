/* pingpong.h: what pingpong.c and mpi/pingpong.c share: sizes, and times of something that is done many times
 * over in rounds. */
#ifndef PINGPONG_H
#define PINGPONG_H

#include <stdio.h>
#include <stdlib.h>

enum { IN = 256, OUT = 64, ONCE = 4096, LARGEST = 4 << 20, MOST_ROUNDS = 200 };

static const int sizes[] = {8, 256, 4 << 10, 64 << 10, 1 << 20, LARGEST};
enum { SIZES = sizeof sizes / sizeof *sizes };

struct times {
    char what[40];
    double least, median; /* seconds */
};

static long rounds; /* 1 to MOST_ROUNDS */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* `round_of` does it so many times; the first round is not counted. `now` gives seconds. */
static struct times measure(const char *what, void (*round_of)(long), long count, double (*now)(void))
{
    struct times times;
    double t[MOST_ROUNDS];
    round_of(count);
    for (long r = 0; r < rounds; r++) {
        double begin = now();
        round_of(count);
        t[r] = (now() - begin) / (double)count;
    }
    qsort(t, (size_t)rounds, sizeof *t, by_value);
    snprintf(times.what, sizeof times.what, "%s", what);
    times.least = t[0];
    times.median = t[rounds / 2];
    return times;
}

/* A line for all, and one for each. */
static void print_times(const struct times *all, int count, long wrong)
{
    printf("pingpong: %d sizes from 8 B to 4 MiB, %s\n", SIZES, wrong ? "WRONG" : "right");
    for (int i = 0; i < count; i++)
        printf("  %-24s %10.2f us %10.2f us\n", all[i].what, 1e6 * all[i].least, 1e6 * all[i].median);
}

#endif
