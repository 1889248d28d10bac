// what: who waits for thread 0 in a loop and then asleep is interrupted in the loop, or runs behind thread 0, though its region was seen asleep only
// env: GANGWAY_WORKERS=2
// threads: 4,8
// mode: link
// timeout: 60
// ours: it counts what the stall monitor did
#include <unistd.h>
#include "check.h"
#include "ompx.h"

enum { ROUNDS = 2000, LOOKS = 1000000 };

static void wait_for(const int *flag, int enough)
{
    for (int looks = 0; !__atomic_load_n(flag, __ATOMIC_ACQUIRE); looks++)
        if (looks >= enough)
            usleep(10);
}

int main(void)
{
    ompx_counters_t before, after;
    int flag = 0;
    int wrong = 0;
    ompx_get_counters(&before, sizeof before);
#pragma omp parallel shared(flag) reduction(+ : wrong)
    for (int round = 0; round < ROUNDS; round++) {
        if (omp_get_thread_num() == 0) {
            if (round == 0)
                usleep(20000); // all sleep in this round, and the region is known to block
            __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
        } else {
            wait_for(&flag, round == 0 ? 0 : LOOKS);
        }
        wrong += __atomic_load_n(&flag, __ATOMIC_ACQUIRE) != 1;
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            __atomic_store_n(&flag, 0, __ATOMIC_RELEASE);
#pragma omp barrier
    }
    ompx_get_counters(&after, sizeof after);
    CHECK_EQ(wrong, 0);
    CHECK(after.switches - before.switches >= ROUNDS);
    CHECK(after.hand_offs - before.hand_offs < ROUNDS / 8);
    return check_result();
}
