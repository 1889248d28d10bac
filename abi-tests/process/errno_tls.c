// what: errno and __thread variables belong to the OpenMP thread, across barriers, criticals and tasks
#include "check.h"
#include <errno.h>
static __thread int mine;
int main(void)
{
#pragma omp parallel
    {
        int id = omp_get_thread_num();
        mine = id + 1;
        for (int i = 0; i < 200; i++) {
            errno = id * 1000 + i;
#pragma omp barrier
            CHECK_EQ(errno, id * 1000 + i);
#pragma omp critical
            {
#pragma omp taskyield
            }
            CHECK_EQ(mine, id + 1);
            CHECK_EQ(errno, id * 1000 + i);
        }
    }
    return check_result();
}
