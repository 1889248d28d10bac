// what: reduction(@OP@) over the threads of @CONSTRUCT@, by value, array and array section
// languages: c, c++
// each: CONSTRUCT ; WHOSE ; OPEN ; INNER ; HEAD = parallel ; none ; omp parallel reduction(@OP@ : one, whole, part[2:2]) ; ; for (int id = omp_get_thread_num(), once = 1; once; once = 0) / scope ; clang ; omp parallel ; omp scope reduction(@OP@ : one, whole, part[2:2]) ; for (int id = omp_get_thread_num(), once = 1; once; once = 0) / for ; none ; omp parallel ; omp for reduction(@OP@ : one, whole, part[2:2]) schedule(static, 1) ; for (int id = 0; id < n; id++)
// each: OP ; STEP ; START ; WANT = + ; x += id + 1 ; 7 ; 7 + n * (n + 1)/2 / * ; x *= 1 + id % 2 ; 3 ; 3 << (n/2) / min ; if (x > 50 - id) x = 50 - id ; 99 ; 51 - n / ^ ; x ^= 1 << id ; 512 ; 512 + (1 << n) - 1
// skip: @WHOSE@ it parses scope and compiles none
#include "check.h"
static int step(int x, int id)
{
    @STEP@;
    return x;
}
int main(void)
{
    int n = omp_get_max_threads(), want = @WANT@;
    int one = @START@, whole[3] = {@START@, @START@, @START@}, store[5] = {1, 2, @START@, @START@, 5}, *part = store;
#pragma @OPEN@
    {
#pragma @INNER@
        @HEAD@ {
            one = step(one, id);
            for (int i = 0; i < 3; i++)
                whole[i] = step(whole[i], id);
            part[2] = step(part[2], id);
            part[3] = step(part[3], id);
        }
    }
    CHECK_EQ(one, want);
    for (int i = 0; i < 3; i++)
        CHECK_EQ(whole[i], want);
    CHECK_EQ(part[2], want);
    CHECK_EQ(part[3], want);
    CHECK_EQ(part[0] * 100 + part[1] * 10 + part[4], 125);
    return check_result();
}
