// what: reduction(@OP@) over a league, and by distribute parallel for below it with dist_schedule @DIST@
// languages: c, c++
// each: OP ; STEP ; START ; WANT = + ; x += i ; 3 ; 3 + 4950 / max ; if (i > x) x = i ; 7 ; 99 / ^ ; x ^= i ; 256 ; 256
// each: DIST = static / static, 9
// each: INNER = schedule(static, 2) / schedule(dynamic, 3) / schedule(guided)
#include "check.h"
int main(void)
{
    int x = @START@, seen[100] = {0};
#pragma omp teams distribute parallel for num_teams(3) thread_limit(3) dist_schedule(@DIST@) @INNER@ reduction(@OP@ : x) shared(seen)
    for (int i = 0; i < 100; i++) {
        @STEP@;
        __atomic_fetch_add(&seen[i], 1, __ATOMIC_RELAXED);
    }
    CHECK_EQ(x, @WANT@);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
    return check_result();
}
