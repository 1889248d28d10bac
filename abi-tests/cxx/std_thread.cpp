// what: std::thread and std::async enter regions, and std::mutex and call_once inside them
#include "check.h"
#include <future>
#include <mutex>
#include <thread>
#include <vector>
static long region(int n)
{
    long sum = 0;
    static std::mutex mutex;
#pragma omp parallel num_threads(n)
    {
        std::lock_guard<std::mutex> lock(mutex);
        sum += omp_get_thread_num() + 1;
    }
    return sum;
}
int main()
{
    std::vector<std::future<long>> futures;
    for (int i = 1; i <= 6; i++)
        futures.push_back(std::async(std::launch::async, region, i));
    for (int i = 1; i <= 6; i++)
        CHECK_EQ(futures[i - 1].get(), i * (i + 1) / 2);
    int once = 0;
    std::once_flag flag;
#pragma omp parallel
    std::call_once(flag, [&] { once++; });
    CHECK_EQ(once, 1);
    std::thread([] { CHECK_EQ(region(4), 10); }).join();
    return check_result();
}
