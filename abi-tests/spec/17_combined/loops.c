// what: @CONSTRUCT@ of @NAME@: each iteration once
// languages: c, c++
// each: CONSTRUCT ; SKIP = parallel for ; none / for simd ; none / parallel for simd ; none / parallel loop ; none / teams loop ; none / teams distribute ; none / teams distribute simd ; none / teams distribute parallel for ; none / teams distribute parallel for simd ; none / parallel master taskloop ; none / parallel master taskloop simd ; none / parallel masked taskloop ; clang / parallel masked taskloop simd ; clang / master taskloop ; none / masked taskloop simd ; clang
// each: CONSTRUCT ; SKIP = target simd ; none / target parallel for ; none / target parallel for simd ; none / target parallel loop ; none / target teams loop ; none / target teams distribute ; none / target teams distribute simd ; none / target teams distribute parallel for ; none / target teams distribute parallel for simd ; none
// each: NAME ; DEPTH = one loop ; 1 / both loops ; 2
// skip: @SKIP@ it makes no code of the loop
// skip: clang<19 some of them come with later compilers
#include "check.h"
int main(void)
{
    static int seen[12][10];
#pragma omp @CONSTRUCT@ collapse(@DEPTH@)
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 10; j++) {
            __atomic_fetch_add(&seen[i][j], 1, __ATOMIC_RELAXED);
        }
    for (int i = 0; i < 12; i++)
        for (int j = 0; j < 10; j++)
            CHECK_EQ(seen[i][j], 1);
    return check_result();
}
