// what: threads of an inner gang that wait for what nobody tells of do not keep those of the outer gang from their worker
// env: OMP_GANG_SCHED=1
// threads: 3,8
// compilers: gcc, clang>=19
// mode: link
// timeout: 20
// ours: the variable and the routine are of this library alone
#include "gang_inner.h"
#include "ompx.h"
static int all_but_one;
static void begin(int me)
{
    if (me == 0)
        all_but_one = omp_get_num_threads() - 1;
}
static void end(int me)
{
    (void)me;
}
static int is_over(void *unused)
{
    (void)unused;
    return LOAD(count) == all_but_one;
}
static void waits_for_outer_threads(void)
{
    ompx_suspend_until(is_over, NULL);
}
int main(void)
{
    return run();
}
