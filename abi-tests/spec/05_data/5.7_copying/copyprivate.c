// what: copyprivate of @KIND@ gives every thread what the single thread stored, @ROUNDS@ times
// languages: c, c++
// each: KIND ; DECLARE ; GET ; SET = int ; int v = -1 ; v ; v = x / array ; int v[100] = {0} ; v[99] ; v[99] = x / struct ; struct { double d; char c[20]; int i; } v = {0, "", 0} ; v.i ; v.i = x / pointer ; int *v = 0 ; *v ; v = &kept[x]
// each: ROUNDS = 1 / 40
#include "check.h"
int main(void)
{
    static int kept[40];
    int singles = 0;
    for (int i = 0; i < 40; i++)
        kept[i] = i;
#pragma omp parallel
    {
        @DECLARE@;
        for (int x = 0; x < @ROUNDS@; x++) {
#pragma omp single copyprivate(v)
            {
                @SET@;
#pragma omp atomic
                singles++;
            }
            CHECK_EQ(@GET@, x);
        }
    }
    CHECK_EQ(singles, @ROUNDS@);
    return check_result();
}
