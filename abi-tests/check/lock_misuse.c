// what: a lock that is @CASE@: told once, with both places
// each: CASE ; LINE = destroyed ; omp_destroy_lock of a lock that thread 0 has set, at misuses+0x*(*+0x*)* set at sets+0x*(*+0x*)* it is destroyed all the same
// each: CASE ; LINE = destroyed_nest ; omp_destroy_nest_lock of a lock that thread 0 has set, at misuses+0x*(*+0x*)* set at sets+0x*(*+0x*)* it is destroyed all the same
// each: CASE ; LINE = unset_by_thread ; omp_unset_lock of a lock that thread 0 has set, by thread 1, at misuses+0x*(*+0x*)* set at sets+0x*(*+0x*)* it is unset all the same
// each: CASE ; LINE = unset_by_task ; omp_unset_lock of a lock that a task of thread 0 has set, by thread 0, at misuses+0x*(*+0x*)* set at sets+0x*(*+0x*)* it is unset all the same
// each: CASE ; LINE = unset_nest ; omp_unset_nest_lock of a lock that thread 0 has set, by thread 1, at misuses+0x*(*+0x*)* set at sets+0x*(*+0x*)* it is unset all the same
// each: CASE ; LINE = unset_free ; omp_unset_lock of a lock that nobody has set, by thread 0, at misuses+0x*(*+0x*)* nothing is unset
// each: CASE ; LINE = unset_free_nest ; omp_unset_nest_lock of a lock that nobody has set, by thread 0, at misuses+0x*(*+0x*)* nothing is unset
// each: CASE ; LINE = set_twice ; thread 0 sets a lock that it has set already, at misuses+0x*(*+0x*)* set before at sets+0x*(*+0x*)* it waits for ever
// compilers: gcc, clang>=19
// threads: 2
// mode: preload
// env: GANGWAY_CHECK=1
// expect-stderr: gangway: GANGWAY_CHECK: @LINE@
// expect-stderr-lines: 1
// ours: other runtimes say nothing
#include <omp.h>
#include <signal.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
enum { destroyed, destroyed_nest, unset_by_thread, unset_by_task, unset_nest, unset_free, unset_free_nest, set_twice };
static omp_lock_t lock;
static omp_nest_lock_t nest;
static volatile int after;
static int is_nest(int which) { return which == destroyed_nest || which == unset_nest || which == unset_free_nest; }
ALONE void sets(int which)
{
    if (is_nest(which))
        omp_set_nest_lock(&nest);
    else
        omp_set_lock(&lock);
    after++;
}
/* Each call is in one place, whatever the round. */
ALONE void misuses(int which)
{
    switch (which) {
    case destroyed: omp_destroy_lock(&lock); break;
    case destroyed_nest: omp_destroy_nest_lock(&nest); break;
    case unset_nest:
    case unset_free_nest: omp_unset_nest_lock(&nest); break;
    case set_twice: omp_set_lock(&lock); break;
    default: omp_unset_lock(&lock);
    }
    after++;
}
static void gives_up(int signal)
{
    (void)signal;
    _exit(0);
}
static void round_of(int which)
{
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    if (which == unset_by_thread || which == unset_nest) {
#pragma omp parallel num_threads(2)
        {
            if (omp_get_thread_num() == 0)
                sets(which);
#pragma omp barrier
            if (omp_get_thread_num() == 1)
                misuses(which);
#pragma omp barrier
            /* Of what is left of the mistake nothing more is said. */
            if (omp_get_thread_num() == 0 && which == unset_by_thread)
                omp_unset_lock(&lock);
        }
        return;
    }
    if (which == unset_by_task) {
#pragma omp task if (0)
        sets(which);
    } else if (which != unset_free && which != unset_free_nest) {
        sets(which);
    }
    if (which == set_twice) { /* the second one never ends */
        signal(SIGALRM, gives_up);
        alarm(2);
    }
    misuses(which);
}
int main(void)
{
    for (int round = 0; round < 3; round++)
        round_of(@CASE@);
    return 0;
}
