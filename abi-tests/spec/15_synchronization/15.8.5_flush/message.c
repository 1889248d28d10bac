// what: a flag set by @WRITE@ and seen by @READ@ carries the message, there and back, with flush @FLUSH@
// languages: c, c++
// each: FLUSH = / (data, flag)
// each: WRITE = atomic write / atomic write seq_cst
// each: READ = atomic read / atomic read seq_cst
// threads: 2,3,4
#include "check.h"
int main(void)
{
    int data = 0, flag = 0;
#pragma omp parallel num_threads(2)
    for (int round = 1; round <= 40; round++) {
        int id = omp_get_thread_num(), seen = 0;
        if (round % 2 == id) {
            data = round * 7;
#pragma omp flush @FLUSH@
#pragma omp @WRITE@
            flag = round;
        } else {
            while (seen < round) {
#pragma omp @READ@
                seen = flag;
            }
#pragma omp flush @FLUSH@
            CHECK_EQ(data, round * 7);
        }
    }
    return check_result();
}
