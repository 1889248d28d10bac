/* The body of gang/outer_spins*.c. */
#include "check.h"
#include "spin.h"
static struct spin_barrier barrier;
static int rounds_done;
static void nested(int n, int round)
{
    int sum = 0;
#pragma omp parallel num_threads(n) shared(sum)
    {
        CHECK_EQ(omp_get_num_threads(), n);
        spin_wait(&barrier, n);
#pragma omp atomic
        sum++;
#pragma omp barrier
        CHECK_EQ(sum, n);
        if (omp_get_thread_num() == n - 1)
            STORE(rounds_done, round);
    }
}
int main(void)
{
    int n = omp_get_max_threads(), seen = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel reduction(+ : seen)
    for (int round = 1; round <= 5; round++) {
        if (omp_get_thread_num() == 1)
            nested(n, round);
        else /* for what the team of thread 1 does */
            SPIN_UNTIL(LOAD(rounds_done) >= round);
        seen++;
#pragma omp barrier
    }
    CHECK_EQ(seen, 5 * n);
    return check_result();
}
