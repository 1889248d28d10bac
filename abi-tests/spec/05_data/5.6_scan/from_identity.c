// what: @KIND@ scan from the identity with @OP@ of @TYPE@ on @CONSTRUCT@
// languages: c, c++
// each: KIND ; FIRST ; SECOND = inclusive ; @STEP@; ; out[i] = x; / exclusive ; out[i] = x; ; @STEP@;
// each: OP ; STEP ; START = + ; x += i + 1 ; 0 / | ; x |= 1 << i % 17 ; 0
// each: TYPE = int / long long
// each: CONSTRUCT = parallel for / parallel for simd / simd
// skip: clang<19 the variable keeps its old value after the loop
#include "check.h"
enum { N = 100 };
static @TYPE@ out[N], want[N];
static void alone(@TYPE@ x, @TYPE@ *out)
{
    for (int i = 0; i < N; i++) {
        @FIRST@
        @SECOND@
    }
}
int main(void)
{
    @TYPE@ x = @START@;
    alone(x, want);
#pragma omp @CONSTRUCT@ reduction(inscan, @OP@ : x)
    for (int i = 0; i < N; i++) {
        @FIRST@
#pragma omp scan @KIND@(x)
        @SECOND@
    }
    for (int i = 0; i < N; i++)
        CHECK_EQ(out[i], want[i]);
    CHECK(x > want[0]);
    return check_result();
}
