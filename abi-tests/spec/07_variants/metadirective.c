// what: metadirective when(@WHEN@): @RULE@
// languages: c, c++
// each: NAME ; WHEN ; RULE ; SIZE = host ; device = {kind(host)} ; its directive ; 3 / gpu ; device = {kind(gpu)} ; the default ; 2 / vendor ; implementation = {vendor(llvm)} ; its directive ; 3 / other vendor ; implementation = {vendor(cray)} ; the default ; 2
// compilers: clang>=19
#include "check.h"
int main(void)
{
    int count = 0;
    omp_set_dynamic(0);
#pragma omp metadirective when(@WHEN@ : parallel num_threads(3)) default(parallel num_threads(2))
    {
#pragma omp atomic
        count++;
    }
    CHECK_EQ(count, @SIZE@);
    return check_result();
}
