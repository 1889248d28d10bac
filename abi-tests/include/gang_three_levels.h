/* The body of gang/three_levels*.c. */
#include "check.h"
#include "spin.h"
static struct spin_barrier outer, middle[2], inner[2][2], all;
static int leaves;
static void leaf(int a, int b)
{
    for (int round = 0; round < 2; round++)
        spin_wait(&inner[a][b], 2);
    ADD(leaves, 1);
    spin_wait(&all, 8); /* the leaves of all teams at once */
    CHECK_EQ(LOAD(leaves) % 8, 0);
    spin_wait(&all, 8);
}
static void middle_thread(int a)
{
    int b = omp_get_thread_num();
    CHECK_EQ(omp_get_num_threads(), 2);
    spin_wait(&middle[a], 2);
#pragma omp parallel num_threads(2)
    {
        CHECK_EQ(omp_get_num_threads(), 2);
        CHECK_EQ(omp_get_ancestor_thread_num(1), a);
        CHECK_EQ(omp_get_ancestor_thread_num(2), b);
        leaf(a, b);
    }
    spin_wait(&middle[a], 2);
}
int main(void)
{
    omp_set_max_active_levels(3);
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(2)
        {
            int a = omp_get_thread_num();
            CHECK_EQ(omp_get_num_threads(), 2);
            spin_wait(&outer, 2);
#pragma omp parallel num_threads(2)
            middle_thread(a);
            spin_wait(&outer, 2);
        }
    }
    CHECK_EQ(leaves, 24);
    return check_result();
}
