// waits: each thread in read(2) for the thread before it; a token that counts goes round
// free: from 1
#include "lab.h"
#include <unistd.h>

enum { ROUNDS = 10 };
int main(void)
{
    int n = omp_get_max_threads(), ends[MOST][2], last = 0, failed = 0;
    for (int i = 0; i < n; i++)
        if (pipe(ends[i]))
            return 2;
#pragma omp parallel shared(ends, last, failed)
    {
        int me = omp_get_thread_num(), token = 0;
        for (int round = 0; round < ROUNDS; round++) {
            if ((me || round) && read(ends[me][0], &token, sizeof token) != sizeof token)
                ADD(failed, 1);
            token++;
            if (me == n - 1 && round == ROUNDS - 1)
                last = token;
            else if (write(ends[(me + 1) % n][1], &token, sizeof token) != sizeof token)
                ADD(failed, 1);
        }
    }
    return answer(last - failed, (long)n * ROUNDS);
}
