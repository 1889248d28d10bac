// what: begin declare variant match(@MATCH@): @WHOM@ is called
// languages: c, c++
// each: NAME ; MATCH ; WHOM ; WANT = host ; device = {kind(host)} ; the variant ; 2 / any ; device = {kind(any)} ; the variant ; 2 / gpu ; device = {kind(gpu)} ; the base ; 1 / nobody's ; implementation = {vendor(gnu)} ; the base ; 1
// compilers: clang>=19
#include "check.h"
static int one(void) { return 1; }
#pragma omp begin declare variant match(@MATCH@)
static inline int one(void) { return 2; }
#pragma omp end declare variant
int main(void)
{
#pragma omp parallel num_threads(3)
    CHECK_EQ(one(), @WANT@);
    return check_result();
}
