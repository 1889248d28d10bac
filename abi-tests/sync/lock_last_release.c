// what: a thread releases and takes a lock many times while a waiter that was woken loses against it, and then
// what: stops: the waiter gets the lock after the last release
// threads: 2,4
#include "check.h"
#include <unistd.h>

enum { ROUNDS = 300 };

static volatile int work;

/* Some microseconds: short against the 500 after which a release hands the lock over. */
static void hold(int length)
{
    for (int i = 0; i < length; i++)
        work = i;
}

int main(void)
{
    long taken = 0;
    int team = 1, in_line = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == 0) {
            team = omp_get_num_threads();
            omp_set_lock(&lock);
#pragma omp barrier
            while (__atomic_load_n(&in_line, __ATOMIC_ACQUIRE) < team - 1)
                usleep(1);
            hold(20000);
            for (int again = 0; again < 2 + round % 30; again++) {
                omp_unset_lock(&lock);
                omp_set_lock(&lock);
                hold(1000);
            }
            in_line = 0;
            omp_unset_lock(&lock);
        } else {
#pragma omp barrier
            __atomic_fetch_add(&in_line, 1, __ATOMIC_ACQ_REL);
            omp_set_lock(&lock);
            taken++;
            omp_unset_lock(&lock);
        }
#pragma omp barrier
    }
    CHECK_EQ(taken, (long)ROUNDS * (team - 1));
    omp_destroy_lock(&lock);
    return check_result();
}
