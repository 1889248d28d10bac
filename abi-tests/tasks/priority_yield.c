// what: priority is accepted, omp_get_max_task_priority reads its variable, taskyield in tied and untied tasks
// env: OMP_MAX_TASK_PRIORITY=10
#include "check.h"
int main(void)
{
    long sum = 0;
    CHECK_EQ(omp_get_max_task_priority(), 10);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 200; i++) {
#pragma omp task priority(i % 11) shared(sum) firstprivate(i)
        {
#pragma omp taskyield
#pragma omp atomic
            sum += i;
        }
#pragma omp task untied shared(sum)
        {
            for (int k = 0; k < 3; k++) {
#pragma omp taskyield
            }
#pragma omp atomic
            sum += 1000;
        }
    }
    CHECK_EQ(sum, 19900 + 200000);
    return check_result();
}
