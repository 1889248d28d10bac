// waits: thread i, in std::future::get, for the promise of thread i + 1; the last for none
// free: from 1
#include "lab.h"
#include <future>
#include <vector>

int main()
{
    int n = omp_get_max_threads();
    std::vector<std::promise<int>> promises(n + 1);
    std::vector<std::future<int>> futures;
    for (auto &promise : promises)
        futures.push_back(promise.get_future());
#pragma omp parallel shared(promises, futures)
    {
        int me = omp_get_thread_num();
        if (me == n - 1)
            promises[n].set_value(1);
        promises[me].set_value(futures[me + 1].get() + 3);
    }
    return answer(futures[0].get(), 1 + 3 * n);
}
