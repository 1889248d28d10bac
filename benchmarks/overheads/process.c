/* What a runtime costs the process: processor time while nothing runs, start-up, memory. These measure
 * themselves.
 *
 * Start-up is the time from the start of a process to its end with one region, less that of a program without
 * OpenMP (`empty`, built beside this one and started without a preloaded library), in turns. Memory is the
 * high-water mark after one region of 8 × 8 threads. */
#define _GNU_SOURCE
#include "probe.h"

#include <fcntl.h>
#include <omp.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SLEEPS = 5, STARTS = 25, PATH_LENGTH = 4096 };

extern char **environ;

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void region(void)
{
#pragma omp parallel
    NOTHING;
}

/* Per cent of a core that the process uses while it sleeps 200 ms, after `later` microseconds. */
static double idle_after(unsigned later, double *median)
{
    const unsigned sleep_us = 200000;
    double shares[SLEEPS];
    for (int i = 0; i < SLEEPS; ++i) {
        for (int j = 0; j < 100; ++j)
            region();
        usleep(later);
        const double used = processor_seconds(), start = now();
        usleep(sleep_us);
        shares[i] = 100 * (processor_seconds() - used) / (now() - start);
    }
    *median = median_of(shares, SLEEPS);
    return shares[0];
}

static double idle(double *median)
{
    return idle_after(0, median);
}

static double idle_later(double *median)
{
    return idle_after(100000, median);
}

static void start_one(const char *path, char *const arguments[], char *const environment[])
{
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t silence;
    posix_spawn_file_actions_init(&silence);
    posix_spawn_file_actions_addopen(&silence, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&child, path, &silence, NULL, arguments, environment) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        wrong("a process could not be started");
    posix_spawn_file_actions_destroy(&silence);
}

/* The environment without a preloaded library. */
static char **bare_environment(void)
{
    size_t count = 0, kept = 0;
    while (environ[count] != NULL)
        ++count;
    char **bare = calloc(count + 1, sizeof *bare);
    for (size_t i = 0; bare != NULL && i < count; ++i)
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0)
            bare[kept++] = environ[i];
    return bare;
}

static double start_up(double *median)
{
    char self[PATH_LENGTH], empty[PATH_LENGTH + 8], threads[16];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0)
        wrong("no name of its own");
    self[length] = '\0';
    const int directory = (int)(strrchr(self, '/') - self);
    snprintf(empty, sizeof empty, "%.*s/empty", directory, self);
    snprintf(threads, sizeof threads, "%d", team_size);
    char *const with[] = {self, "--probe", "parallel", "--count", "1", "--threads", threads, NULL};
    char *const without[] = {empty, NULL};
    char **bare = bare_environment();
    double least[2] = {1e9, 1e9}, all[2][STARTS];
    for (int i = 0; i < STARTS; ++i) {
        for (int which = 0; which < 2; ++which) {
            const double start = now();
            start_one(which ? self : empty, which ? with : without, which ? environ : bare);
            all[which][i] = (now() - start) * 1e3;
            least[which] = all[which][i] < least[which] ? all[which][i] : least[which];
        }
    }
    free(bare);
    *median = median_of(all[1], STARTS) - median_of(all[0], STARTS);
    return least[1] - least[0];
}

static double memory(double *median)
{
    int count = 0;
#pragma omp parallel num_threads(8)
#pragma omp parallel num_threads(8)
    __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (count != 64)
        wrong("a team was too small");
    double megabytes = 0;
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            megabytes = atof(line + 6) / 1024;
    if (status != NULL)
        fclose(status);
    *median = megabytes;
    return megabytes;
}

const struct probe process_probes[] = {
    {"idle", 0, 0, 0, idle, "%"},
    {"idle_later", 0, 0, 0, idle_later, "%"},
    {"start_up", 0, 0, 0, start_up, "ms"},
    {"memory", 0, 0, 0, memory, "MB"},
    {0, 0, 0, 0, 0, 0},
};
