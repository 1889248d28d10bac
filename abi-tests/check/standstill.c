// what: code that sleeps in the kernel for long, with threads queued behind it, is told once: where it is, and who waits for it
// compilers: gcc, clang>=19
// threads: 3
// mode: preload
// env: GANGWAY_CHECK=1 GANGWAY_WORKERS=1
// expect-stderr: gangway: GANGWAY_CHECK: code of the region *main* has not come to a switch point for a second, and sleeps in the kernel, at * < blocks+0x*(*+0x*) < main*; what was queued behind it goes on elsewhere; for it wait 2 of its threads in a barrier at *main
// expect-stderr-lines: 1
// ours: other runtimes say nothing
#include <omp.h>
#include <time.h>
static volatile int after;
__attribute__((noinline)) void blocks(void)
{
    struct timespec long_time = {2, 300000000};
    nanosleep(&long_time, 0);
    after++;
}
int main(void)
{
#pragma omp parallel
    {
        if (omp_get_thread_num() == 0)
            blocks();
#pragma omp barrier
        after++;
    }
    return 0;
}
