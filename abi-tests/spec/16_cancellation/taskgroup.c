// what: cancel taskgroup from @WHO@, OMP_CANCELLATION=@ENV@: tasks that have not begun are dropped, others end
// languages: c, c++
// each: ENV ; ON = true ; 1 / false ; 0
// each: WHO ; COND = its first task ; i == 0 / every task ; 1 / a middle task ; i == 100
// each: KIND ; CLAUSE = plain ; / dependent ; depend(inout : x)
// env: OMP_CANCELLATION=@ENV@
#include "check.h"
int main(void)
{
    int began = 0, ended = 0, outside = 0, x = 0;
#pragma omp parallel shared(began, ended, outside)
#pragma omp single
    {
#pragma omp task shared(outside)
        outside++;
#pragma omp taskgroup
        for (int i = 0; i < 200; i++) {
#pragma omp task @CLAUSE@ shared(began, ended, x) firstprivate(i)
            {
                __atomic_fetch_add(&began, 1, __ATOMIC_RELAXED);
#pragma omp cancel taskgroup if(@COND@)
                __atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
            }
        }
        CHECK(@ON@ ? ended < began : ended == began);
        CHECK(@ON@ || began == 200);
        int next = 0;
#pragma omp taskgroup
        {
#pragma omp task shared(next)
            next = 1;
        }
        CHECK_EQ(next, 1);
    }
    CHECK_EQ(outside + x, 1);
    return check_result();
}
