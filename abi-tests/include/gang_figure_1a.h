/* The body of gang/figure_1a*.c: figure 1(a) of "Task-Graph Scheduling Extensions for Efficient
 * Synchronization and Communication" (ICS 2021): two gangs that each meet in a barrier of their own making.
 */
#include "check.h"
#include "spin.h"
static void gang(int size)
{
    struct spin_barrier barrier = {0, 0};
    int steps = 0;
#pragma omp parallel num_threads(size) shared(barrier, steps)
    {
        CHECK_EQ(omp_get_num_threads(), size);
        for (int round = 1; round <= 3; round++) {
            ADD(steps, 1);
            spin_wait(&barrier, size);
            CHECK_EQ(LOAD(steps), size * round);
            spin_wait(&barrier, size);
        }
    }
    CHECK_EQ(steps, 3 * size);
}
int main(void)
{
    int size = omp_get_max_threads(), ended = 0;
    omp_set_max_active_levels(2);
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel num_threads(size)
#pragma omp single
        for (int i = 0; i < 2; i++) {
#pragma omp task shared(ended)
            {
                gang(size);
#pragma omp atomic
                ended++;
            }
        }
    }
    CHECK_EQ(ended, 4);
    return check_result();
}
