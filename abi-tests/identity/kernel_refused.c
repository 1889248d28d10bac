// what: calls for good that the system refuses, in many regions, cost no kernel thread each, and the threads go on
// threads: 1,2,6,17
// timeout: 60
#define _GNU_SOURCE
#include <dirent.h>
#include <sched.h>
#include "check.h"

enum { REGIONS = 60, NO_SUCH_FLAG = 1 };

static int kernel_threads(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/task");
    while (directory && readdir(directory))
        count++;
    if (directory)
        closedir(directory);
    return count - 2; /* . and .. */
}

int main(void)
{
    int done = 0, threads = omp_get_max_threads();
    omp_set_max_active_levels(2);
    for (int region = 0; region < REGIONS; region++)
#pragma omp parallel reduction(+ : done)
    {
        done += unshare(NO_SUCH_FLAG) == -1;
#pragma omp barrier
#pragma omp parallel num_threads(2) reduction(+ : done)
        {
            done += omp_get_thread_num() != region % 2 || unshare(NO_SUCH_FLAG) == -1;
#pragma omp barrier
        }
    }
    CHECK_EQ(done, REGIONS * threads * 3);
    /* A worker, a donor and a dedicated kernel thread for each thread of both levels, and those of the
     * runtime. */
    int most = 3 * 2 * threads + 16;
    if (kernel_threads() > most)
        printf("%d kernel threads\n", kernel_threads());
    CHECK(kernel_threads() <= most);
    return check_result();
}
