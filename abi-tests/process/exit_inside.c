// what: exit() from a thread of a region ends the process with its status while others work
// expect-exit: 7
// expect-stdout: bye
#include "check.h"
static void last(void)
{
    puts("bye");
}
int main(void)
{
    atexit(last);
#pragma omp parallel
    {
        if (omp_get_thread_num() == omp_get_num_threads() - 1)
            exit(7);
        for (;;) {
#pragma omp taskyield
        }
    }
    return 1;
}
