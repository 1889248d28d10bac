// what: @DIRECTIVE@ below @OUTER@: each iteration once
// languages: c, c++
// each: NAME ; DIRECTIVE ; OUTER = tile ; tile sizes(4, 3) ; nothing / tiled for ; tile sizes(5, 2) ; parallel for / tiled collapse ; tile sizes(3, 7) ; parallel for collapse(2) / unroll ; unroll partial(3) ; nothing / unrolled for ; unroll partial(4) ; parallel for / unroll full ; unroll ; nothing / tiled in tasks ; tile sizes(6, 6) ; parallel for schedule(dynamic)
// each: COUNT = 20 / 7
// compilers: clang>=19
// flags: clang -fopenmp-version=51
#include "check.h"
int main(void)
{
    int seen[20][20] = {{0}};
#pragma omp @OUTER@
#pragma omp @DIRECTIVE@
    for (int i = 0; i < @COUNT@; i++)
        for (int j = 0; j < @COUNT@; j++)
            seen[i][j]++;
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 20; j++)
            CHECK_EQ(seen[i][j], i < @COUNT@ && j < @COUNT@);
    return check_result();
}
