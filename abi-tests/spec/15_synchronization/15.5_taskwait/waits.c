// what: @WAIT@ waits for @WHOM@
// languages: c, c++
// each: WAIT ; WHOM ; PRAGMA ; NEAR ; FAR = taskwait ; children, not their children ; omp taskwait ; 1 ; 0 / barrier ; all tasks of the team ; omp barrier ; 1 ; 1 / taskwait with depend in ; the writer named ; omp taskwait depend(in : near) ; 1 ; 0 / taskwait with depend out ; the writer named ; omp taskwait depend(out : near) ; 1 ; 0 / undeferred task with depend ; the writer named ; omp task if(0) depend(in : near) ; 1 ; 0
// each: DEPTH = 1 / 3
#include "check.h"
static int far_done;
static void below(int depth)
{
    if (depth == 0)
        return;
#pragma omp task firstprivate(depth)
    {
        below(depth - 1);
        __atomic_fetch_add(&far_done, 1, __ATOMIC_RELEASE);
    }
}
int main(void)
{
    int done = 0;
#pragma omp parallel num_threads(3)
    {
        int near = 0;
#pragma omp task depend(out : near) shared(near)
        {
            below(@DEPTH@);
            __atomic_store_n(&near, 1, __ATOMIC_RELEASE);
        }
#pragma @PRAGMA@
        ;
        if (@NEAR@)
            CHECK_EQ(__atomic_load_n(&near, __ATOMIC_ACQUIRE), 1);
        if (@FAR@)
            CHECK_EQ(__atomic_load_n(&far_done, __ATOMIC_ACQUIRE), 3 * @DEPTH@);
        __atomic_fetch_add(&done, near, __ATOMIC_RELAXED);
#pragma omp taskwait
    }
    CHECK_EQ(done, 3);
    CHECK_EQ(far_done, 3 * @DEPTH@);
    return check_result();
}
