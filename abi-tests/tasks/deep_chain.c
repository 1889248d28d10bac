// what: a chain of tasks, each made by the one before, while nobody takes any and there are enough: those that are run at once take no more than their share of the stack
// threads: 2,4
#include "check.h"
#include <unistd.h>
enum { MANY = 2000, LINKS = 60000 };
static int done, may_go;
static void count(void)
{
    __atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
}
static void link_of(int left)
{
    char used[256];
    used[left % 256] = 1;
    __asm__ volatile("" : : "r"(used) : "memory");
    count();
    if (left > 0) {
#pragma omp task firstprivate(left)
        link_of(left - 1);
    }
}
/* The same, with a dependence, so that each is a task with a node. */
static void dependent_link_of(int left)
{
    char used[256];
    used[left % 256] = 1;
    __asm__ volatile("" : : "r"(used) : "memory");
    count();
    if (left > 0) {
        int own;
#pragma omp task firstprivate(left) depend(out : own)
        dependent_link_of(left - 1);
    }
}
/* The same by way of undeferred tasks in between. */
static void link_by_undeferred(int left)
{
    count();
    if (left > 0) {
#pragma omp task if (0) firstprivate(left)
        {
            char used[256];
            used[left % 256] = 1;
            __asm__ volatile("" : : "r"(used) : "memory");
#pragma omp task firstprivate(left)
            link_by_undeferred(left - 1);
        }
    }
}
/* Each waits for the next one, so that the stacks of all are in use at once. */
static void waiting_link_of(int left)
{
    char used[256];
    used[left % 256] = 1;
    __asm__ volatile("" : : "r"(used) : "memory");
    count();
    if (left > 0) {
#pragma omp task firstprivate(left)
        waiting_link_of(left - 1);
#pragma omp taskwait
    }
}
static void alone(void (*chain)(int), int links)
{
    done = 0;
    __atomic_store_n(&may_go, 0, __ATOMIC_RELAXED);
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0) {
            for (int i = 0; i < MANY; i++) {
#pragma omp task
                count();
            }
            chain(links);
            __atomic_store_n(&may_go, 1, __ATOMIC_RELEASE);
        } else {
            while (!__atomic_load_n(&may_go, __ATOMIC_ACQUIRE))
                usleep(500);
        }
    }
    CHECK_EQ(done, MANY + links + 1);
}
int main(void)
{
    alone(link_of, LINKS);
    alone(dependent_link_of, LINKS);
    alone(link_by_undeferred, LINKS);
    alone(waiting_link_of, LINKS / 4);
    return check_result();
}
