// what: OMP_TARGET_OFFLOAD=never gives one clear line that names the variable, and the program goes on
// env: OMP_TARGET_OFFLOAD=never
// threads: 2
// mode: preload,symlink
// compilers: gcc,clang>=19
// ours: peers word and count their messages differently
// expect-stderr: gangway: *OMP_TARGET_OFFLOAD
// expect-stderr-lines: 1
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads(), count = 0;
#pragma omp parallel reduction(+ : count)
    count++;
    CHECK(n >= 1);
    CHECK_EQ(count, n);
    return check_result();
}
