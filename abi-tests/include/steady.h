/* Repeats a piece of work ten times and checks that memory and threads do not grow. */
#ifndef STEADY_H
#define STEADY_H
#include "check.h"
#include <dirent.h>
#include <unistd.h>

/* Pages the process holds, in KiB. */
static long steady_rss(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld %ld", &total, &resident) != 2)
        CHECK(!"statm is readable");
    if (file)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static long steady_threads(void)
{
    long count = 0;
    DIR *directory = opendir("/proc/self/task");
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return count;
}

/* From the 2nd to the 10th repetition memory may grow by 2 MiB, which leaves room for a heap that
 * fragments but not for a leak per region or task in programs that make 10,000 and more of them
 * in each repetition; threads may not grow at all, or by STEADY_LATE where how many are needed at once
 * depends on how the work falls. `bound` is that limit in KiB. */
#ifndef STEADY_LATE
#define STEADY_LATE 0
#endif
static void steady_within(void (*work)(void), long bound)
{
    long rss = 0, threads = 0;
    for (int repetition = 1; repetition <= 10; repetition++) {
        work();
        if (repetition == 2) {
            rss = steady_rss();
            threads = steady_threads();
        }
    }
    long grown = steady_rss() - rss;
    if (grown > bound)
        fprintf(stderr, "memory grew by %ld KiB\n", grown);
    CHECK(grown <= bound);
    CHECK(steady_threads() <= threads + STEADY_LATE);
}

static void steady(void (*work)(void))
{
    steady_within(work, 2048);
}
#endif
