// what: fork inside a region: a child that only exits or executes leaves the parent's region alone
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int good = 0, n = omp_get_max_threads();
#pragma omp parallel reduction(+ : good)
    {
        pid_t child = fork();
        if (child == 0)
            execl("/bin/true", "true", (char *)NULL);
        int status = 1;
        waitpid(child, &status, 0);
        good += status == 0;
#pragma omp barrier
    }
    CHECK_EQ(good, n);
    return check_result();
}
