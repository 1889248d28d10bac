// what: KMP_DISP_NUM_BUFFERS=0 gives one clear line that names the variable, and the program goes on
// env: KMP_DISP_NUM_BUFFERS=0
// threads: 2
// mode: preload,symlink
// compilers: gcc,clang>=19
// ours: peers word and count their messages differently
// expect-stderr: OMP: Warning #42: gangway: KMP_DISP_NUM_BUFFERS
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
