// waits: threads in a barrier for threads that spin for the one that cancels the region; the program starts itself again with OMP_CANCELLATION
// free: from 2
#include "lab.h"
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    int n = omp_get_max_threads(), word = 0, before = 0, behind = 0;
    if (!omp_get_cancellation() && count == 1) {
        setenv("OMP_CANCELLATION", "true", 1);
        execl("/proc/self/exe", words[0], "again", NULL);
        return 2;
    }
#pragma omp parallel shared(word, before, behind)
    {
        int me = omp_get_thread_num();
        ADD(before, 1);
        if (me == n - 1) {
            SPIN_UNTIL(LOAD(before) == n);
            STORE(word, 1);
#pragma omp cancel parallel
        }
        if (me % 2)
            SPIN_UNTIL(LOAD(word));
#pragma omp barrier
        ADD(behind, 1);
    }
    return answer(100 * before + behind, 100 * n);
}
