// what: iterations of a dynamic loop run although the thread that would have run them next is held up in one before them
// threads: 2,3,4,8
#include "held_up.h"

static void turn(int held_up)
{
    int fine = 0, twice = 0;
#pragma omp parallel reduction(+ : twice)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < ITERATIONS; i++) {
        if (i == held_up)
            fine = wait_for_the_others(i);
        twice += ran[i];
        __atomic_store_n(&ran[i], 1, __ATOMIC_RELAXED);
    }
    CHECK(fine);
    CHECK_EQ(twice, 0);
    CHECK(all_but(-1));
}

int main(void)
{
    for (int t = 0; t < TURNS; t++)
        turn(held_up_in(t));
    return check_result();
}
