/* What a runtime costs the process: processor time while nothing runs, start-up, memory. These measure
 * themselves.
 *
 * Start-up is the time from the start of a process to its end with one region, less that of a program without
 * OpenMP (`empty`, built beside this one and started without a preloaded library), in turns. The cold figures
 * are of `cold`, built beside this one: its own times, and the time from its start to its end. Memory is the
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
#include <unistd.h>

enum { SLEEPS = 5, STARTS = 25, PATH_LENGTH = 4096 };

extern char **environ;

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

/* Its standard output is `output`. */
static void start_one(const char *path, char *const arguments[], char *const environment[], int output)
{
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    if (posix_spawn(&child, path, &actions, NULL, arguments, environment) != 0 ||
        waitpid(child, &status, 0) != child || status != 0)
        wrong("a process could not be started");
    posix_spawn_file_actions_destroy(&actions);
}

/* The path of this program with another last part. */
static void beside(const char *name, char path[PATH_LENGTH])
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_LENGTH - 16);
    if (length <= 0)
        wrong("no name of its own");
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
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
    char self[PATH_LENGTH], empty[PATH_LENGTH], threads[16];
    beside("overheads", self);
    beside("empty", empty);
    const int silence = open("/dev/null", O_WRONLY);
    snprintf(threads, sizeof threads, "%d", team_size);
    char *const with[] = {self, "--probe", "parallel", "--count", "1", "--threads", threads, NULL};
    char *const without[] = {empty, NULL};
    char **bare = bare_environment();
    double least[2] = {1e9, 1e9}, all[2][STARTS];
    for (int i = 0; i < STARTS; ++i) {
        for (int which = 0; which < 2; ++which) {
            const double start = now();
            start_one(which ? self : empty, which ? with : without, which ? environ : bare, silence);
            all[which][i] = (now() - start) * 1e3;
            least[which] = all[which][i] < least[which] ? all[which][i] : least[which];
        }
    }
    close(silence);
    free(bare);
    *median = median_of(all[1], STARTS) - median_of(all[0], STARTS);
    return least[1] - least[0];
}

/* The figures of a process that meets the runtime cold, in microseconds. */
enum cold_figure { FIRST_REGION, SECOND_REGION, FIRST_TASKS, WHOLE, COLD_FIGURES };

static double cold(enum cold_figure which, double *median)
{
    char path[PATH_LENGTH], threads[16];
    beside("cold", path);
    snprintf(threads, sizeof threads, "%d", team_size);
    setenv("OMP_NUM_THREADS", threads, 1);
    char *const arguments[] = {path, NULL};
    double all[STARTS];
    for (int i = 0; i < STARTS; ++i) {
        int ends[2];
        char line[128] = "";
        double figures[COLD_FIGURES];
        if (pipe(ends) != 0)
            wrong("no pipe");
        const double start = now();
        start_one(path, arguments, environ, ends[1]);
        figures[WHOLE] = (now() - start) * 1e6;
        if (read(ends[0], line, sizeof line - 1) <= 0 ||
            sscanf(line, "%lf %lf %lf", &figures[FIRST_REGION], &figures[SECOND_REGION],
                   &figures[FIRST_TASKS]) != 3)
            wrong("a cold process printed nothing");
        close(ends[0]);
        close(ends[1]);
        all[i] = figures[which];
    }
    *median = median_of(all, STARTS);
    return all[0];
}

static double first_region(double *median)
{
    return cold(FIRST_REGION, median);
}

static double second_region(double *median)
{
    return cold(SECOND_REGION, median);
}

static double first_tasks(double *median)
{
    return cold(FIRST_TASKS, median);
}

static double whole_process(double *median)
{
    return cold(WHOLE, median);
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
    {"first_region", 0, 0, 0, first_region, "us"},
    {"second_region", 0, 0, 0, second_region, "us"},
    {"first_tasks", 0, 0, 0, first_tasks, "us"},
    {"whole_process", 0, 0, 0, whole_process, "us"},
    {"memory", 0, 0, 0, memory, "MB"},
    {0, 0, 0, 0, 0, 0},
};
