// what: cancel of parallel, for, sections and taskgroup, and cancellation points
// env: OMP_CANCELLATION=true
#include "check.h"
int main(void)
{
    CHECK_EQ(omp_get_cancellation(), 1);
    int n = omp_get_max_threads();
    for (int round = 0; round < 20; round++) {
        int past = 0, entered = 0;
#pragma omp parallel
        {
#pragma omp atomic
            entered++;
            if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
            }
            for (;;) {
#pragma omp cancellation point parallel
            }
#pragma omp atomic
            past++;
        }
        CHECK_EQ(entered, n);
        CHECK_EQ(past, 0);
        int iterations = 0, after = 0;
#pragma omp parallel
        {
#pragma omp for schedule(static, 1)
            for (int i = 0; i < 100000; i++) {
#pragma omp atomic
                iterations++;
#pragma omp cancel for
            }
#pragma omp atomic
            after++;
        }
        CHECK(iterations >= 1 && iterations <= n);
        CHECK_EQ(after, n);
        int section = 0;
#pragma omp parallel
        {
#pragma omp sections
            {
#pragma omp section
                {
#pragma omp cancel sections
                    section = 1;
                }
#pragma omp section
                {
#pragma omp cancellation point sections
                }
            }
        }
        CHECK_EQ(section, 0);
        int tasks = 0, wrong = 0;
#pragma omp parallel
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task shared(wrong) if (0)
                {
#pragma omp cancel taskgroup
                    wrong = 1;
                }
                for (int i = 0; i < 50; i++) {
#pragma omp task shared(tasks)
                    {
#pragma omp atomic
                        tasks++;
                    }
                }
            }
            CHECK_EQ(tasks, 0);
#pragma omp task shared(tasks)
            {
#pragma omp atomic
                tasks += 1000;
            }
#pragma omp taskwait
            CHECK_EQ(tasks, 1000);
        }
        CHECK_EQ(wrong, 0);
    }
    return check_result();
}
