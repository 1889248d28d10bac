// what: fork by a thread on a worker of the pool: threads that the child makes have storage that nobody else uses
// timeout: 60
// ours: a child that goes on inside the region hangs in other runtimes
#include "check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
enum { REGIONS = 300 };
static _Thread_local int mine;
static int *where[64];
/* 1 if two threads of the region find the same thread-local variable */
static int region(void)
{
    int shared = 0;
#pragma omp parallel reduction(+ : shared)
    {
        int me = omp_get_thread_num();
        where[me] = &mine;
        mine = me;
#pragma omp barrier
        for (int i = 0; i < omp_get_num_threads(); i++)
            shared += i != me && where[i] == &mine;
        shared += mine != me;
    }
    return shared != 0;
}
int main(void)
{
    pid_t parent = getpid(), child[64];
    int children = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel
    {
        int me = omp_get_thread_num();
#pragma omp critical
        if (me != 0 && getpid() == parent) {
            pid_t pid = fork();
            if (pid == 0) {
                alarm(20);
                for (int i = 0; i < REGIONS; i++)
                    if (region())
                        _exit(2);
                _exit(0);
            }
            child[children++] = pid;
        }
    }
    CHECK_EQ(children, omp_get_max_threads() - 1);
    for (int i = 0; i < children; i++) {
        int status = 1;
        waitpid(child[i], &status, 0);
        CHECK_EQ(status, 0);
    }
    return check_result();
}
