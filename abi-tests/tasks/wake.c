// what: a task reaches a thread that may run it, though another one that may not sleeps nearer
// threads: 3,4,8
// timeout: 20
#include "check.h"
#include <unistd.h>
int main(void)
{
    int ran = 0;
#pragma omp parallel num_threads(3)
#pragma omp for schedule(static, 1) ordered
    for (int i = 0; i < 2; i++) {
#pragma omp ordered
        if (i == 0) {
            usleep(200000); /* thread 1 sleeps until its turn, thread 2 at the barrier */
#pragma omp task shared(ran)
            {
#pragma omp atomic write
                ran = 1;
            }
            for (int seen = 0; !seen;) {
#pragma omp atomic read
                seen = ran;
            }
        }
    }
    CHECK_EQ(ran, 1);
    return check_result();
}
