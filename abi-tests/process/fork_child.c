// what: after a region, fork: the child enters regions of its own, and so does the parent, and a grandchild
// peers: libgomp fails, because a child that enters a region after the parent did hangs
// timeout: 20
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
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
    CHECK(region());
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            int right = region();
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(region() ? 0 : 1);
            int status = 1;
            waitpid(grandchild, &status, 0);
            _exit(right && region() && status == 0 ? 0 : 1);
        }
        int status = 1;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK_EQ(status, 0);
        CHECK(region());
    }
    return check_result();
}
