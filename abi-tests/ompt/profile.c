// what: the example tool (examples/ompt/profile.c), in a program: a line for each place that forks regions
// ours: libgomp has no interface for tools
// compilers: gcc,clang>=19
// threads: 2,4
// flags: gcc -rdynamic
// expect-stderr: region*times*ms*tasks*waiting ms
// expect-stderr:  7 * 21 *
// expect-stderr:  1 * 0 *
// expect-stderr-lines: 3
#include "check.h"
#include "../../examples/ompt/profile.c"

int main(void)
{
    int ran = 0;
    for (int i = 0; i < 7; i++) {
#pragma omp parallel
#pragma omp single
        for (int t = 0; t < 3; t++) {
#pragma omp task shared(ran)
#pragma omp atomic
            ran++;
        }
    }
#pragma omp parallel
#pragma omp atomic
    ran++;
    CHECK_EQ(ran, 21 + omp_get_max_threads());
    return check_result();
}
