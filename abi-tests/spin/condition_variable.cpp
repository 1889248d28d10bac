// what: threads of a region meet through std::condition_variable and std::mutex
// threads: 2,4,8
#include "check.h"
#include <condition_variable>
#include <mutex>
class meeting {
    std::mutex mutex;
    std::condition_variable condition;
    int arrived = 0, round = 0;

  public:
    void wait(int size)
    {
        std::unique_lock<std::mutex> lock(mutex);
        int mine = round;
        if (++arrived == size) {
            arrived = 0;
            round++;
            condition.notify_all();
        } else {
            condition.wait(lock, [&] { return round != mine; });
        }
    }
};
int main()
{
    int n = omp_get_max_threads(), last = -1;
    meeting all;
#pragma omp parallel shared(last)
    for (int round = 0; round < 20; round++) {
        if (omp_get_thread_num() == round % n)
            last = round;
        all.wait(n);
        CHECK_EQ(last, round);
        all.wait(n);
    }
    return check_result();
}
