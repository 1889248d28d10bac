// what: fork inside a region: the child, with one thread, runs what is queued, forks regions of its own, ends its share
// timeout: 20
// ours: a child that goes on inside the region hangs in other runtimes
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
static int status_of(pid_t child)
{
    int status = 1;
    waitpid(child, &status, 0);
    return status;
}
static int region(void)
{
    int sum = 0, n = omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
    {
        sum += omp_get_thread_num() + 1;
#pragma omp barrier
#pragma omp task
        {
        }
    }
    return sum == n * (n + 1) / 2;
}
int main(void)
{
    pid_t parent = getpid();
    omp_set_max_active_levels(2);
    int done = 0, count = 0, children = 0;
    pid_t child[64];
    /* thread 0's child leaves the region, another thread's child ends with its share */
    for (int from = 0; from < 2; from++) {
#pragma omp parallel reduction(+ : count)
        {
            if (omp_get_thread_num() == from) {
#pragma omp task shared(done)
#pragma omp atomic
                done++;
                pid_t pid = fork();
                if (pid == 0) {
                    alarm(5); /* not the whole timeout */
                    if (!region())
                        _exit(2);
                } else {
                    child[children++] = pid;
                }
#pragma omp task shared(done)
#pragma omp atomic
                done++;
#pragma omp taskwait
            }
#pragma omp barrier
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 10; i++)
                count++;
#pragma omp for schedule(static, 1) ordered
            for (int i = 0; i < 10; i++) {
#pragma omp ordered
                count++;
            }
        }
        if (getpid() != parent)
            _exit(from == 0 && region() ? 0 : 3);
    }
    for (int i = 0; i < children; i++)
        CHECK_EQ(status_of(child[i]), 0);
    CHECK_EQ(count, 40);
    CHECK_EQ(done, 2 * children);
    return check_result();
}
