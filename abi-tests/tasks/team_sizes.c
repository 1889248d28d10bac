// what: regions of different sizes forked in turn, all with tasks: what one leaves in a team does not disturb the next
// threads: 1,4
// timeout: 20
#include "check.h"
static int tasks(int threads)
{
    int done = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single nowait
    for (int i = 0; i < 40; i++) {
#pragma omp task shared(done)
        {
            for (volatile int k = 0; k < 1000; k++) {
            }
#pragma omp atomic
            done++;
        }
    }
    return done;
}
int main(void)
{
    static const int sizes[] = {4, 2, 3, 1, 4, 2};
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < 6; i++)
            CHECK_EQ(tasks(sizes[i]), 40);
    return check_result();
}
