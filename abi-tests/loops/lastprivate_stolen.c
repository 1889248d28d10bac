// what: lastprivate of a dynamic loop is right although a thread that is held up leaves quick iterations before the last one to others
// threads: 2,3,4,8
// peers: libomp fails, because its stealing schedule can report the last chunk wrongly
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
static void wait_for_the_others(int one)
{
    for (int look = 0; look < 50000 && !all_but(one); look++)
        usleep(200);
}

static void turn(int held_up)
{
    int last = -1, held = -1;
    memset(ran, 0, sizeof ran);
#pragma omp parallel for lastprivate(last) schedule(dynamic)
    for (int i = 0; i < N; i++) {
        if (i == held_up) {
            wait_for_the_others(i);
            held = all_but(i);
        }
        last = i;
        __atomic_store_n(&ran[i], 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(last, N - 1);
    CHECK_EQ(held, 1);
}

int main(void)
{
    for (int t = 0; t < TURNS; t++)
        turn(N / 2 + 137 * t);
    return check_result();
}
