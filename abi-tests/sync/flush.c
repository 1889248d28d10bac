// what: flush orders a hand-over between two threads that wait by reading
#include "check.h"
int main(void)
{
    int data[50] = {0}, flag = 0, sum = 0;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_num_threads() == 2 && omp_get_thread_num() == 0) {
            for (int i = 0; i < 50; i++) {
                data[i] = i + 1;
#pragma omp flush
#pragma omp atomic write
                flag = i + 1;
            }
        } else if (omp_get_num_threads() == 2) {
            for (int i = 0; i < 50; i++) {
                int seen;
                do {
#pragma omp taskyield
#pragma omp atomic read
                    seen = flag;
                } while (seen <= i);
#pragma omp flush
                sum += data[i];
            }
        } else
            sum = 1275;
    }
    CHECK_EQ(sum, 1275);
    return check_result();
}
