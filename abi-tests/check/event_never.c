// what: a detachable task whose event nobody has fulfilled at exit, and @CASE@ waits: told once per place, with who waits
// each: CASE ; WAITS = nobody ; the program ends / taskwait ; and a taskwait waits for it / taskgroup ; and the end of a taskgroup waits for it / region ; and a barrier, or the end of the region, waits for it
// compilers: gcc, clang>=19
// threads: 3
// mode: preload
// env: GANGWAY_CHECK=1
// expect-stderr: gangway: GANGWAY_CHECK: nobody has fulfilled the event of the task made at *makes*
// expect-stderr: @WAITS@
// expect-stderr-lines: 1
// ours: other runtimes say nothing, and hang
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
enum { nobody, taskwait, taskgroup, region };
static volatile int after;
__attribute__((noinline)) void makes(void)
{
    omp_event_handle_t event;
#pragma omp task detach(event)
    after++;
}
static void *ends_the_program(void *unused)
{
    usleep(500000);
    exit(0);
    return unused;
}
int main(void)
{
    pthread_t other;
    if (@CASE@ == nobody) {
        makes();
        makes();
        exit(0);
    }
    pthread_create(&other, 0, ends_the_program, 0);
#pragma omp parallel
#pragma omp single
    {
        if (@CASE@ == taskgroup) {
#pragma omp taskgroup
            makes();
        } else {
            makes();
        }
        if (@CASE@ == taskwait) {
#pragma omp taskwait
        }
    }
    return 1;
}
