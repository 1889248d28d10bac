// what: GANGWAY_TLS=none gives one clear line that names the variable, and the program goes on
// env: GANGWAY_TLS=none
// threads: 2
// mode: preload
// compilers: gcc,clang>=19
// ours: the variable is Gangway's
// expect-stderr: gangway: *GANGWAY_TLS
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
