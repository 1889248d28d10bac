// what: a child forked in the shared object after a region enters regions of its own
// peers: libgomp fails, because a child that enters a region after the parent did hangs
// threads: 1,2,4
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
static int region(void)
{
    int sum = 0, n = omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
    sum += omp_get_thread_num() + 1;
    return sum == n * (n + 1) / 2;
}
int check(void)
{
    CHECK(region());
    pid_t child = fork();
    if (child == 0)
        _exit(region() ? 0 : 1);
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQ(status, 0);
    return check_result();
}
