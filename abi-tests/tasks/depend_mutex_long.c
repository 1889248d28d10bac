// what: mutexinoutset tasks of one location exclude each other for as long as they take, whoever else is idle
// threads: 2,4,8
#include "check.h"
#include <unistd.h>
int main(void)
{
    int x = 0, inside = 0, ran = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 30; i++) {
#pragma omp task depend(mutexinoutset : x) shared(inside, ran)
        {
            CHECK_EQ(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST), 0);
            usleep(1000);
            ran++;
            CHECK_EQ(__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST), 1);
        }
    }
    CHECK_EQ(ran, 30);
    return check_result();
}
