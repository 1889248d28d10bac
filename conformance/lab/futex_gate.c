// waits: all threads but the first in FUTEX_WAIT, called by hand, for the first, which opens the gate when all have come
// free: from 1
#include "lab.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static void futex(int *word, int operation, int value)
{
    syscall(SYS_futex, word, operation, value, NULL, NULL, 0);
}
int main(void)
{
    int n = omp_get_max_threads(), came = 0, gate = 0, passed = 0;
#pragma omp parallel shared(came, gate, passed)
    for (int round = 1; round <= 3; round++) {
        if (omp_get_thread_num() == 0) {
            for (int now; (now = LOAD(came)) != round * (n - 1);)
                futex(&came, FUTEX_WAIT_PRIVATE, now);
            STORE(gate, round);
            futex(&gate, FUTEX_WAKE_PRIVATE, MOST);
        } else {
            ADD(came, 1);
            futex(&came, FUTEX_WAKE_PRIVATE, 1);
            while (LOAD(gate) < round)
                futex(&gate, FUTEX_WAIT_PRIVATE, round - 1);
        }
        ADD(passed, LOAD(gate) >= round);
    }
    return answer(passed, 3 * n);
}
