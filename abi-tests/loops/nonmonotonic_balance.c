// what: iterations of a dynamic loop run although the thread that would have run them next is held up in one before them
// threads: 2,3,4,8
#include "check.h"
#include <unistd.h>

enum { N = 4000, TURNS = 6 };
static unsigned char ran[N];

static int all_but(int one)
{
    for (int i = 0; i < N; i++)
        if (i != one && !__atomic_load_n(&ran[i], __ATOMIC_RELAXED))
            return 0;
    return 1;
}

/* Up to 10 s. */
static int wait_for_the_others(int one)
{
    for (int look = 0; look < 50000; look++) {
        if (all_but(one))
            return 1;
        usleep(200);
    }
    return 0;
}

static void turn(int held_up)
{
    int fine = 0, twice = 0;
    memset(ran, 0, sizeof ran);
#pragma omp parallel reduction(+ : twice)
#pragma omp for schedule(dynamic)
    for (int i = 0; i < N; i++) {
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
        turn(N / 2 + 137 * t);
    return check_result();
}
