// what: mutexinoutset on an undeferred task (if(0)) excludes its siblings while it runs
// peers: libomp fails, because it only orders an undeferred task
#include "check.h"
static int inside[2];
static long count[2];
static void use(int which)
{
    CHECK_EQ(__atomic_add_fetch(&inside[which], 1, __ATOMIC_RELAXED), 1);
    for (volatile int spin = 0; spin < 500; spin++) {
    }
    count[which]++;
    __atomic_sub_fetch(&inside[which], 1, __ATOMIC_RELAXED);
}
int main(void)
{
    int a = 0, b = 0, after = 0;
    for (int round = 0; round < 40; round++) {
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(mutexinoutset : a)
            use(0);
#pragma omp task depend(mutexinoutset : b)
            use(1);
#pragma omp task depend(mutexinoutset : a, b)
            {
                use(0);
                use(1);
            }
#pragma omp task if (0) depend(mutexinoutset : a)
            {
                use(0);
#pragma omp task depend(out : a) shared(after)
                after++; // a child of the undeferred task: no sibling of those above
#pragma omp taskwait
            }
#pragma omp task if (0) depend(mutexinoutset : b, a)
            {
                use(1);
                use(0);
            }
        }
    }
    CHECK_EQ(count[0], 1600);
    CHECK_EQ(count[1], 1200);
    CHECK_EQ(after, 400);
    return check_result();
}
