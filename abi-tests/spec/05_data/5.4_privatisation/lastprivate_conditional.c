// what: lastprivate(conditional:) under @SCHEDULE@ takes the value of the last iteration that assigned
// languages: c, c++
// each: SCHEDULE = static / static,1 / dynamic / guided,2
// each: LAST ; WANT = i % 10 == 3 ; 93 / i < 5 ; 4
// skip: clang its programs take values of other iterations, on its own runtime too
#include "check.h"
int main(void)
{
    int last = -1;
#pragma omp parallel for schedule(@SCHEDULE@) lastprivate(conditional : last)
    for (int i = 0; i < 100; i++)
        if (@LAST@)
            last = i;
    CHECK_EQ(last, @WANT@);
    return check_result();
}
