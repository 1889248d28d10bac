// what: reduction(@OP@) of @TYPE@ gives what the loop gives alone, the old value included
// languages: c, c++
// each: OP ; STEP ; VALUE ; START = + ; x += v ; i * 3 - 40 ; 5 / - ; x += v ; 7 - i ; 11 / * ; x *= v ; i % 9 == 4 ? 2 : 1 ; 3
// each: OP ; STEP ; VALUE ; START = min ; if (v < x) x = v ; (i - 61) * (i - 61) + 2 ; 900 / max ; if (v > x) x = v ; 5000 - (i - 33) * (i - 33) ; 4
// each: OP ; STEP ; VALUE ; START = && ; x = x && v ; i != 70 ; 1 / || ; x = x || v ; i == 70 ; 0
// each: TYPE = int / long long / float / double
#include "check.h"
enum { N = 101 };
int main(void)
{
    @TYPE@ x = @START@, got = @START@;
    for (int i = 0; i < N; i++) {
        @TYPE@ v = (@TYPE@)(@VALUE@);
        @STEP@;
    }
    @TYPE@ want = x;
    for (int round = 0; round < 3; round++) {
        x = @START@;
#pragma omp parallel for reduction(@OP@ : x) schedule(static, 3)
        for (int i = 0; i < N; i++) {
            @TYPE@ v = (@TYPE@)(@VALUE@);
            @STEP@;
        }
        got = x;
        CHECK_EQ(got, want);
    }
    CHECK(want != @START@ || 0 == 1);
    return check_result();
}
