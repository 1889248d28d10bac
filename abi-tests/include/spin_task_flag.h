/* The body of spin/task_flag*.c: tasks spin until another task has run; all threads but one can be taken. */
#include "check.h"
#include "spin.h"
int main(void)
{
    int n = omp_get_max_threads();
    for (int round = 0; round < 5; round++) {
        int flags[64] = {0}, seen = 0;
#pragma omp parallel shared(flags, seen)
#pragma omp single
        {
            for (int i = 0; i < n - 1; i++) {
#pragma omp task shared(flags, seen) firstprivate(i)
                {
                    SPIN_UNTIL(LOAD(flags[i]));
                    ADD(seen, 1);
                }
            }
            for (int i = 0; i < n - 1; i++) {
#pragma omp task shared(flags) firstprivate(i)
                STORE(flags[i], 1);
            }
        }
        CHECK_EQ(seen, n - 1);
    }
    return check_result();
}
