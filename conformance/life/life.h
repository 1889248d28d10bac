/* What the cases share: regions whose results are known, children that have to end well, and the table of a
 * program's cases. A case returns whether all was right; the program then says "right". No check here can be
 * left out by a macro. */
#ifndef LIFE_H
#define LIFE_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEAM = 4 };

/* A region with a barrier and a loop. */
static inline int region(void)
{
    long sum = 0, members = 0, size = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : sum, members)
    {
        members += omp_get_thread_num() + 1;
#pragma omp barrier
#pragma omp for schedule(dynamic)
        for (int i = 1; i <= 100; i++)
            sum += i;
#pragma omp single
        size = omp_get_num_threads();
    }
    int right = sum == 5050 && members == size * (size + 1) / 2;
    if (!right)
        fprintf(stderr, "a region of %ld threads: sum %ld, numbers %ld\n", size, sum, members);
    return right;
}

static inline int tasks(void)
{
    long sum = 0;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    for (int i = 1; i <= 100; i++)
#pragma omp task shared(sum) firstprivate(i)
#pragma omp atomic
        sum += i;
    return sum == 5050;
}

static inline int nested(void)
{
    long right = 0, size = 0;
    omp_set_max_active_levels(3);
#pragma omp parallel num_threads(2) reduction(+ : right)
    {
        right += region();
#pragma omp single
        size = omp_get_num_threads();
    }
    return right == size;
}

/* Whether a child ended with this status. */
static inline int ended(pid_t child, int with)
{
    int status = 0;
    pid_t came;
    do
        came = waitpid(child, &status, 0);
    while (came < 0 && errno == EINTR);
    int right = child > 0 && came == child && WIFEXITED(status) && WEXITSTATUS(status) == with;
    if (!right)
        fprintf(stderr, "child %d: waitpid says %d, status %#x, %s\n", child, came, status,
                came < 0 ? strerror(errno) : "no error");
    return right;
}

struct life {
    const char *name;
    int (*run)(void);
};

/* The answer of the case that the first argument names. */
static inline int life(int argc, char **argv, const struct life *cases)
{
    for (; argc > 1 && cases->name; cases++)
        if (!strcmp(cases->name, argv[1])) {
            int right = cases->run();
            puts(right ? "right" : "wrong");
            fflush(stdout);
            return !right;
        }
    return 64;
}
#endif
