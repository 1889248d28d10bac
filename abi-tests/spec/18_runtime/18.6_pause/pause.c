// what: @CALL@ with @KIND@: regions, threadprivate of the initial thread and control variables afterwards; @REPEAT@ times
// languages: c, c++
// each: CALL ; ARGUMENTS = omp_pause_resource ; omp_pause_@KIND@, omp_get_initial_device() / omp_pause_resource_all ; omp_pause_@KIND@
// each: KIND ; SOFT ; PEER = soft ; 1 ; none / hard ; 0 ; libomp
// each: REPEAT = 1 / 6
// peers: @PEER@ fails, because it can hang in the region after a hard pause
// skip: clang<19 borrows a newer omp.h
#include "check.h"
static int mine = 3;
#pragma omp threadprivate(mine)
int main(void)
{
    omp_set_num_threads(5);
    for (int round = 0; round < @REPEAT@; round++) {
        int sum = 0;
        mine = 7;
        CHECK_EQ(@CALL@(@ARGUMENTS@), 0);
        if (@SOFT@) {
            CHECK_EQ(mine, 7);
            CHECK_EQ(omp_get_max_threads(), 5);
        }
#pragma omp parallel num_threads(5) reduction(+ : sum)
        sum += 1 + omp_get_thread_num();
        CHECK_EQ(sum, 15);
#pragma omp parallel num_threads(2) reduction(+ : sum)
#pragma omp single
#pragma omp task shared(sum)
        sum++;
    }
    return check_result();
}
