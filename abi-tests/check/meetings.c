// what: threads of a team wait in two places (@CASE@), which is told once, with both
// each: CASE ; ONE ; TWO ; END = loop_and_barrier ; at the end of a loop at *in_a_loop ; in_a_barrier ; they are let through together
// each: CASE ; ONE ; TWO ; END = loop_and_sections ; at the end of a loop at *in_a_loop ; at the end of sections at *in_sections ; they are let through together
// each: CASE ; ONE ; TWO ; END = barrier_and_end ; thread 1 waits in a barrier*in_a_barrier*; thread * at the end of the region *main ; at the end of the region ; the region does not end
// each: CASE ; ONE ; TWO ; END = single_and_end ; thread 1 waits *in_a_single*; thread * at the end of the region *main ; at the end of the region ; the region does not end
// each: CASE ; ONE ; TWO ; END = nested_end ; thread 1 waits in a barrier*in_a_barrier*; thread 0 at the end of the region *inner ; at the end of the region ; the region does not end
// compilers: gcc, clang>=19
// flags: clang -g
// threads: 2,4
// mode: preload
// env: GANGWAY_CHECK=1
// expect-stderr: gangway: GANGWAY_CHECK: threads of a team wait in different places: thread
// expect-stderr: @ONE@
// expect-stderr: @TWO@
// expect-stderr: @END@
// expect-stderr-lines: 1
// ours: other runtimes say nothing, and hang
#include <omp.h>
#include <signal.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
enum { loop_and_barrier, loop_and_sections, barrier_and_end, single_and_end, nested_end };
static volatile int sum;
ALONE void in_a_barrier(void)
{
#pragma omp barrier
    sum++;
}
ALONE void in_a_loop(void)
{
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 8; i++)
        sum++;
    sum++;
}
ALONE void in_sections(void)
{
#pragma omp sections
    {
#pragma omp section
        sum++;
#pragma omp section
        sum++;
    }
    sum++;
}
ALONE void in_a_single(void)
{
#pragma omp single
    sum++;
    sum++;
}
ALONE void inner(void)
{
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1)
        in_a_barrier();
}
static void gives_up(int signal)
{
    (void)signal;
    _exit(0);
}
int main(void)
{
    omp_set_max_active_levels(2);
    signal(SIGALRM, gives_up);
    alarm(1);
#pragma omp parallel
    {
        int odd = omp_get_thread_num() == 1;
        switch (@CASE@) {
        case loop_and_barrier:
            if (odd)
                in_a_loop();
            else
                in_a_barrier();
            break;
        case loop_and_sections:
            if (odd)
                in_a_loop();
            else
                in_sections();
            break;
        case barrier_and_end:
            if (odd)
                in_a_barrier();
            break;
        case single_and_end:
            if (odd)
                in_a_single();
            break;
        case nested_end:
            if (odd)
                inner();
        }
    }
    return 0;
}
