/* Programs that run beside others: barriers, regions, loops and a graph of tasks. Each takes some tenths of a
 * second on a free machine, checks its result and ends with status 1 if it is wrong.
 *
 *     busy barriers|regions|loops|graph COUNT
 *
 * COUNT is the number of barriers, regions or loops, or of rows and columns of the graph. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A few microseconds; returns 1. */
static long work(int steps)
{
    unsigned state = 1;
    for (int i = 0; i < steps; i++) {
        state = state * 1664525u + 1013904223u;
        __asm__ volatile("" : "+r"(state));
    }
    return state != 0;
}

enum { SHORT = 5000, LOOP = 16, ITERATION = 8000, TASK = 12000 };

/* The number of pieces of work that were done. */
static long barriers(int count)
{
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int i = 0; i < count; i++) {
        sum += work(SHORT);
#pragma omp barrier
    }
    return sum;
}

static long regions(int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++) {
#pragma omp parallel reduction(+ : sum)
        sum += work(SHORT);
    }
    return sum;
}

static long loops(int count)
{
    long sum = 0;
    for (int i = 0; i < count; i++) {
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
        for (int k = 0; k < LOOP; k++)
            sum += work(ITERATION);
    }
    return sum;
}

/* Each task waits for those above it and to its left, and counts the paths to it, modulo 2^64. */
static unsigned long graph(int count)
{
    size_t width = (size_t)count + 1;
    unsigned long *paths = calloc(width * width, sizeof *paths);
    if (!paths)
        exit(1);
    paths[1] = 1;
#pragma omp parallel
#pragma omp single
    for (size_t row = 1; row < width; row++)
        for (size_t column = 1; column < width; column++) {
            unsigned long *here = &paths[row * width + column], *above = here - width, *left = here - 1;
#pragma omp task depend(in : *above, *left) depend(inout : *here)
            *here = (*above + *left) * (unsigned long)work(TASK);
        }
    unsigned long last = paths[width * width - 1];
    free(paths);
    return last;
}

/* The paths to the last task, row by row. */
static unsigned long expected_paths(int count)
{
    size_t width = (size_t)count + 1;
    unsigned long *row = calloc(width, sizeof *row);
    if (!row)
        exit(1);
    row[1] = 1;
    for (int i = 0; i < count; i++)
        for (size_t column = 1; column < width; column++)
            row[column] += row[column - 1];
    unsigned long last = row[width - 1];
    free(row);
    return last;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 0;
    if (count < 1) {
        fprintf(stderr, "busy barriers|regions|loops|graph COUNT\n");
        return 2;
    }
    unsigned long threads = (unsigned long)omp_get_max_threads(), n = (unsigned long)count, got, wanted;
    double begin = omp_get_wtime();
    if (!strcmp(argv[1], "barriers"))
        got = (unsigned long)barriers(count), wanted = threads * n;
    else if (!strcmp(argv[1], "regions"))
        got = (unsigned long)regions(count), wanted = threads * n;
    else if (!strcmp(argv[1], "loops"))
        got = (unsigned long)loops(count), wanted = LOOP * n;
    else
        got = graph(count), wanted = expected_paths(count);
    printf("# program\tseconds\tpass\n%s\t%.6f\t%s\n", argv[1], omp_get_wtime() - begin,
           got == wanted ? "yes" : "no");
    return got != wanted;
}
