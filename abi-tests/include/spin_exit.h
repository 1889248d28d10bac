/* The body of spin/exit_among_spinners*.c. */
#include "check.h"
#include "spin.h"
static int started, threads;
static void at_exit(void)
{
    CHECK_EQ(LOAD(started), threads);
    if (check_result() != 0)
        _Exit(1);
}
int main(void)
{
    int never = 0;
    threads = omp_get_max_threads();
    atexit(at_exit);
#pragma omp parallel shared(never)
    {
        int n = omp_get_num_threads();
        ADD(started, 1);
        if (omp_get_thread_num() == n - 1) {
            SPIN_UNTIL(LOAD(started) == n);
            exit(7);
        }
        SPIN_UNTIL(LOAD(never));
    }
    return 1;
}
