// what: with KMP_ENABLE_TASK_THROTTLING=0 a task may make any number of children before it runs one
// env: KMP_ENABLE_TASK_THROTTLING=0
// threads: 2,4
// skip: gcc libgomp runs tasks at once when there are many, whatever the variable says
#include "check.h"
enum { TASKS = 5000 };
int main(void)
{
    int made = 0, seen = -1, held = 1;
#pragma omp parallel
#pragma omp master
    {
        for (int i = 0; i < TASKS; i++) {
            made++;
#pragma omp task shared(made, seen, held)
            {
                int wait;
                if (omp_get_thread_num() == 0) {
                    if (seen < 0)
                        seen = made;
#pragma omp atomic write
                    held = 0;
                }
                do {
#pragma omp atomic read
                    wait = held;
                } while (wait);
            }
        }
    }
    CHECK_EQ(made, TASKS);
    CHECK_EQ(seen, TASKS);
    return check_result();
}
