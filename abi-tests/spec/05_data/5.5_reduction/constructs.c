// what: reduction(@OP@) on @CONSTRUCT@
// languages: c, c++
// each: CONSTRUCT ; OPEN ; LOOP = parallel for ; ; omp parallel for reduction(@OP@ : x) / for in parallel ; omp parallel ; omp for reduction(@OP@ : x) / for simd ; omp parallel ; omp for simd reduction(@OP@ : x) schedule(dynamic, 4)
// each: CONSTRUCT ; OPEN ; LOOP = taskloop ; omp parallel master ; omp taskloop reduction(@OP@ : x) / taskloop simd ; omp parallel master ; omp taskloop simd reduction(@OP@ : x) num_tasks(5) / teams distribute parallel for ; ; omp teams distribute parallel for reduction(@OP@ : x) num_teams(2) / simd ; ; omp simd reduction(@OP@ : x)
// each: OP ; STEP ; START ; WANT = + ; x += i ; 100 ; 100 + N * (N - 1)/2 / max ; if (i > x) x = i ; -3 ; N - 1 / | ; x |= i ; 256 ; 256 + 127
#include "check.h"
enum { N = 128 };
int main(void)
{
    int x = @START@;
#pragma @OPEN@
#pragma @LOOP@
    for (int i = 0; i < N; i++)
        @STEP@;
    CHECK_EQ(x, @WANT@);
    return check_result();
}
