// what: a tied task resumes on its thread, and its thread number stays across taskwait, taskyield, critical
#include "check.h"
static int busy[64];
static void tree(int depth)
{
    int id = omp_get_thread_num();
    CHECK(id < omp_get_num_threads());
    if (depth == 0)
        return;
    for (int i = 0; i < 3; i++) {
#pragma omp task firstprivate(depth)
        tree(depth - 1);
    }
#pragma omp taskyield
    CHECK_EQ(omp_get_thread_num(), id);
#pragma omp critical
    CHECK_EQ(omp_get_thread_num(), id);
#pragma omp taskwait
    CHECK_EQ(omp_get_thread_num(), id);
}
int main(void)
{
#pragma omp parallel
#pragma omp single
    tree(6);
    /* Two tasks in the name of one thread never run at the same time. */
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 400; i++) {
#pragma omp task
        {
            int id = omp_get_thread_num();
            CHECK_EQ(__atomic_fetch_add(&busy[id], 1, __ATOMIC_SEQ_CST), 0);
            for (volatile int spin = 0; spin < 500; spin++) {
            }
            __atomic_fetch_sub(&busy[id], 1, __ATOMIC_SEQ_CST);
        }
    }
    return check_result();
}
