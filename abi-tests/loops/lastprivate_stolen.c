// what: lastprivate of a dynamic loop is right although a thread that is held up leaves quick iterations before the last one to others
// threads: 2,3,4,8
// peers: libomp fails, because its stealing schedule can report the last chunk wrongly
#include "held_up.h"

static void turn(int held_up)
{
    int last = -1, fine = 0;
#pragma omp parallel for lastprivate(last) schedule(dynamic)
    for (int i = 0; i < ITERATIONS; i++) {
        if (i == held_up)
            fine = wait_for_the_others(i);
        last = i;
        __atomic_store_n(&ran[i], 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(last, ITERATIONS - 1);
    CHECK(fine);
}

int main(void)
{
    for (int t = 0; t < TURNS; t++)
        turn(held_up_in(t));
    return check_result();
}
