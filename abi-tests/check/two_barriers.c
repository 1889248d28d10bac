// what: two barriers for one meeting: told once where the compiler says their lines; the threads are let through
// compilers: clang>=19
// flags: clang -g
// threads: 2,4
// mode: preload
// env: GANGWAY_CHECK=1
// expect-stderr: gangway: GANGWAY_CHECK: threads of a team wait in different places: thread
// expect-stderr: waits in a barrier at *two_barriers*.c:20:1 in main
// expect-stderr: waits in a barrier at *two_barriers*.c:22:1 in main
// expect-stderr: ; they are let through together
// expect-stderr-lines: 1
// ours: other runtimes say nothing
#include "check.h"
int main(void)
{
    int passed = 0;
#pragma omp parallel
    for (int round = 0; round < 3; round++) {
        if (omp_get_thread_num() == 0) {
#pragma omp barrier
        } else {
#pragma omp barrier
        }
#pragma omp atomic
        passed++;
    }
    CHECK_EQ(passed, 3 * omp_get_max_threads());
    return check_result();
}
