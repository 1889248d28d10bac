/* Runs one program of the suite and prints the least and the median of its times.
 *
 *   tasks --program NAME --threads T [--repeat R]      milliseconds
 *   tasks --list                                       names */
#define _GNU_SOURCE
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 1000 };

int team_size = 2;

unsigned long mixed(unsigned long z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ul;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebul;
    return z ^ (z >> 31);
}

unsigned long next_random(unsigned long *state)
{
    return mixed(*state += 0x9e3779b97f4a7c15ul);
}

double next_real(unsigned long *state)
{
    return (double)(next_random(state) >> 11) * 0x1p-53;
}

void *allocate(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL) {
        fprintf(stderr, "no memory\n");
        exit(1);
    }
    return memory;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(const struct program *p, int repeat)
{
    static double ms[MOST];
    for (int i = 0; i < repeat; ++i) {
        p->prepare();
        const double start = now();
        p->solve();
        ms[i] = (now() - start) * 1e3;
        const char *problem = p->check();
        if (problem != NULL) {
            fprintf(stderr, "wrong result: %s: %s\n", p->name, problem);
            return 1;
        }
    }
    qsort(ms, (size_t)repeat, sizeof *ms, ascending);
    printf("# least\tmedian\tunit\tsamples\n%.4f\t%.4f\tms\t%d\n", ms[0],
           (ms[(repeat - 1) / 2] + ms[repeat / 2]) / 2, repeat);
    return 0;
}

int main(int argc, char **argv)
{
    const char *name = "";
    int repeat = 3, at = 1;
    for (; at < argc && strcmp(argv[at], "--list") != 0; at += 2) {
        const char *option = argv[at], *value = at + 1 < argc ? argv[at + 1] : "";
        if (strcmp(option, "--program") == 0)
            name = value;
        else if (strcmp(option, "--threads") == 0)
            team_size = atoi(value);
        else if (strcmp(option, "--repeat") == 0)
            repeat = atoi(value);
        else
            repeat = 0;
    }
    for (int i = 0; programs[i] != NULL; ++i) {
        const struct program *p = programs[i];
        if (at < argc)
            puts(p->name);
        else if (strcmp(p->name, name) == 0 && team_size > 0 && repeat > 0 && repeat <= MOST)
            return measure(p, repeat);
    }
    if (at < argc)
        return 0;
    fprintf(stderr, "usage: tasks --program NAME --threads T [--repeat R], or --list\n");
    return 2;
}
