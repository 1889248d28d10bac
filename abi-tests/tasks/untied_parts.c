// what: untied tasks that clang cuts into parts: undeferred and included ones are whole when the construct ends
// peers: libomp fails, because it stops at an assertion when the first part of an if(0) task asks for the next
#include "check.h"
/* In a function of its own: clang 19 does not survive a loop of tasks in an untied task. */
static void four(int *group)
{
    for (int j = 0; j < 4; j++) {
#pragma omp task
        {
#pragma omp atomic
            (*group)++;
        }
    }
}
int main(void)
{
#pragma omp parallel
#pragma omp single
    {
        int undeferred = 0, final = 0, included = 0, group = 0;
#pragma omp task untied if (0) shared(undeferred)
        {
            undeferred = 1;
#pragma omp taskyield
            undeferred = 2;
#pragma omp taskwait
            undeferred = 3;
        }
        CHECK_EQ(undeferred, 3);
#pragma omp task untied final(1) shared(final, included)
        {
            final = 1;
#pragma omp taskyield
#pragma omp task untied shared(included)
            {
                included = 1;
#pragma omp taskyield
                included = 2;
            }
            final = included == 2 ? 2 : -1;
        }
#pragma omp taskwait
        CHECK_EQ(final, 2);
        for (int i = 0; i < 200; i++) {
#pragma omp task untied shared(group)
            {
#pragma omp taskyield
#pragma omp taskgroup
                four(&group);
#pragma omp taskyield
#pragma omp task shared(group)
                {
#pragma omp atomic
                    group++;
                }
#pragma omp taskwait
            }
        }
#pragma omp taskwait
        CHECK_EQ(group, 1000);
    }
    return check_result();
}
