// what: tasks that wait for each other (@CASE@): told once, with who has what and who waits
// each: CASE ; ONE ; TWO ; THREE = by_set ; a task of thread *, made at makes_first+0x*, in omp_set_lock at wants+0x* waits for the lock that thread * has set at ; at the end of a taskgroup at * waits for the task that was made at makes_second+0x ; the task made at makes_second+0x* waits for the mutexinoutset that the task made at makes_first+0x*) has
// each: CASE ; ONE ; TWO ; THREE = by_taskwait ; a task of thread * in omp_set_lock at wants+0x* waits for the lock that thread * has set at ; in a taskwait at *main* waits for the task that waits at wants+0x ; a cycle, none of these can go on
// each: CASE ; ONE ; TWO ; THREE = by_locks ; a task of thread * in omp_set_lock at wants+0x* waits for the lock that thread * has set at ; waits for the lock that a task of thread * has set at ; in omp_set_lock at wants
// compilers: gcc, clang>=19
// threads: 3
// mode: preload
// env: GANGWAY_CHECK=1
// expect-stderr: gangway: GANGWAY_CHECK: a cycle, none of these can go on: rank 0:
// expect-stderr: @ONE@
// expect-stderr: @TWO@
// expect-stderr: @THREE@
// expect-stderr-lines: 1
// ours: other runtimes say nothing, and hang
#include <omp.h>
#include <signal.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
enum { by_set, by_taskwait, by_locks };
static omp_lock_t lock, other;
static volatile int begun, x;
static void gives_up(int signal)
{
    (void)signal;
    _exit(0);
}
ALONE void wants(omp_lock_t *it)
{
    omp_set_lock(it);
    begun++;
    omp_unset_lock(it);
}
ALONE void makes_first(void)
{
#pragma omp task depend(mutexinoutset : x)
    {
        begun = 1;
        wants(&lock);
    }
}
ALONE void makes_second(void)
{
#pragma omp task depend(mutexinoutset : x)
    begun++;
}
int main(void)
{
    omp_init_lock(&lock);
    omp_init_lock(&other);
    signal(SIGALRM, gives_up);
    alarm(3);
#pragma omp parallel
#pragma omp single
    {
        omp_set_lock(&lock);
        if (@CASE@ == by_set) {
            makes_first();
            while (!begun)
                ;
#pragma omp taskgroup
            makes_second();
        } else if (@CASE@ == by_taskwait) {
#pragma omp task
            {
                begun = 1;
                wants(&lock);
            }
            while (!begun)
                ;
#pragma omp taskwait
        } else {
#pragma omp task
            {
                omp_set_lock(&other);
                begun = 1;
                wants(&lock);
                omp_unset_lock(&other);
            }
            while (!begun)
                ;
            wants(&other);
        }
        omp_unset_lock(&lock);
    }
    return 1;
}
