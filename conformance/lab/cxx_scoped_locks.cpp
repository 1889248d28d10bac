// waits: threads in std::lock for two mutexes each, taken in either order, and, holding both, in a spinning wait for the thread that has none
// free: from 1
#include "lab.h"
#include <mutex>

int main()
{
    int n = omp_get_max_threads(), word = 0;
    long moved = 0;
    std::mutex a, b;
#pragma omp parallel shared(word, moved, a, b)
    {
        int me = omp_get_thread_num();
        if (me == n - 1)
            STORE(word, 1);
        for (int round = 0; round < 5; round++) {
            std::mutex &first = (me + round) % 2 ? a : b, &second = (me + round) % 2 ? b : a;
            std::scoped_lock both(first, second);
            SPIN_UNTIL(LOAD(word));
            moved += me + 1;
        }
    }
    return answer(moved, 5L * n * (n + 1) / 2);
}
