// waits: consumers for producers, and producers for room, in std::condition_variable with a queue of two places; tasks on both sides
// free: from 2
#include "lab.h"
#include <condition_variable>
#include <deque>
#include <mutex>

int main()
{
    int pairs = omp_get_max_threads() / 2;
    long sum = 0;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<int> queue;
#pragma omp parallel shared(sum, mutex, changed, queue)
#pragma omp single
    for (int i = 0; i < pairs; i++) {
#pragma omp task shared(sum, mutex, changed, queue)
        for (int k = 0; k < 10; k++) {
            std::unique_lock<std::mutex> held(mutex);
            changed.wait(held, [&] { return !queue.empty(); });
            sum += queue.front();
            queue.pop_front();
            changed.notify_all();
        }
#pragma omp task shared(mutex, changed, queue)
        for (int k = 1; k <= 10; k++) {
            std::unique_lock<std::mutex> held(mutex);
            changed.wait(held, [&] { return queue.size() < 2; });
            queue.push_back(k);
            changed.notify_all();
        }
    }
    return answer(sum, 55L * pairs);
}
