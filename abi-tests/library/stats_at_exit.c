// what: GANGWAY_STATS prints a heading and a line per counter at exit, once
// ours: the variable is Gangway's
// env: GANGWAY_STATS=1
// threads: 1,4
// expect-stderr: gangway: counters of process *
// expect-stderr: regions                                 25
// expect-stderr-lines: 38
#include "check.h"
int main(void)
{
    int n = 0;
    for (int i = 0; i < 25; i++) {
#pragma omp parallel reduction(+ : n)
        n++;
    }
    CHECK_EQ(n, 25 * omp_get_max_threads());
    return check_result();
}
