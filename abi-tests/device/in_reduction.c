// what: in_reduction on target takes part in the taskgroup's reduction
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    EACH_DEVICE(d)
    {
        int sum = 100;
#pragma omp parallel
#pragma omp single
#pragma omp taskgroup task_reduction(+ : sum)
        for (int i = 0; i < 10; i++) {
#pragma omp target device(d) in_reduction(+ : sum) firstprivate(i)
            sum += i;
#pragma omp task in_reduction(+ : sum) firstprivate(i)
            sum += 1000;
        }
        CHECK_EQ(sum, 100 + 45 + 10000);
    }
    return check_result();
}
