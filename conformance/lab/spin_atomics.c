// waits: threads in a barrier of sequentially consistent atomic operations, which clang follows with a call of the runtime's flush each
// free: from 1
#include "lab.h"

enum { ROUNDS = 6 };

static int read_of(int *word)
{
    int value;
#pragma omp atomic read seq_cst
    value = *word;
    return value;
}

int main(void)
{
    int n = omp_get_max_threads(), arrived = 0, round = 0;
    long sum = 0;
#pragma omp parallel shared(arrived, round) reduction(+ : sum)
    for (int i = 1; i <= ROUNDS; i++) {
        int last;
#pragma omp atomic capture seq_cst
        last = ++arrived;
        if (last == n * i) {
#pragma omp atomic write seq_cst
            round = i;
        } else
            SPIN_UNTIL(read_of(&round) >= i);
        sum += i * (omp_get_thread_num() + 1);
    }
    return answer(sum, (long)ROUNDS * (ROUNDS + 1) / 2 * n * (n + 1) / 2);
}
