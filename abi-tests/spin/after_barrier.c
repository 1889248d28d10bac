// what: who releases a barrier lets those go first who share its worker, so that it need not be interrupted in a loop that waits for one of them
// env: GANGWAY_WORKERS=1
// threads: 2,4
// mode: link
// timeout: 60
// ours: it counts what the stall monitor did
#include "check.h"
#include "ompx.h"

enum { ROUNDS = 2000 };

int main(void)
{
    ompx_counters_t before, after;
    int flag = -1;
    int wrong = 0;
    ompx_get_counters(&before, sizeof before);
#pragma omp parallel shared(flag) reduction(+ : wrong)
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == 0)
            __atomic_store_n(&flag, round, __ATOMIC_RELEASE);
        else
            while (__atomic_load_n(&flag, __ATOMIC_ACQUIRE) != round)
                ;
        wrong += __atomic_load_n(&flag, __ATOMIC_ACQUIRE) != round;
#pragma omp barrier
    }
    ompx_get_counters(&after, sizeof after);
    CHECK_EQ(wrong, 0);
    CHECK(after.switches - before.switches >= ROUNDS);
    CHECK(after.preemptions - before.preemptions < ROUNDS / 4);
    return check_result();
}
