// what: firstprivate of @KIND@ is captured when the task is made, @WHEN@
// languages: c, c++
// each: KIND ; DECLARE ; SET ; GET = char ; char v ; v = (char)i ; v / double ; double v ; v = i ; (int)v / big array ; int v[3000] ; v[2999] = i ; v[2999] / aligned ; struct { __attribute__((aligned(64))) int x; } v ; v.x = i ; (((unsigned long)&v & 63) == 0 ? v.x : -9) / pointer ; long *v ; v = &kept[i] ; *v
// each: WHEN ; CLAUSE = deferred ; / undeferred ; if(0) / depending ; depend(inout : chain) / nested ; final(0)
#include "check.h"
static long kept[100];
int main(void)
{
    int n = omp_get_max_threads(), seen[100] = {0}, chain = 0;
    for (int i = 0; i < 100; i++)
        kept[i] = i;
#pragma omp parallel
#pragma omp master
    {
        @DECLARE@;
        for (int i = 0; i < 100; i++) {
            @SET@;
#pragma omp task firstprivate(v) shared(seen) @CLAUSE@
            {
                int got = @GET@;
                if (got >= 0 && got < 100)
                    __atomic_fetch_add(&seen[got], 1, __ATOMIC_RELAXED);
            }
        }
    }
    for (int i = 0; i < 100; i++)
        CHECK_EQ(seen[i], 1);
    return check_result() + (n < 1) + chain;
}
