// what: reduction(@OP@ : r) over a combined target construct
// each: OP ; FIRST ; STEP ; WANT = + ; 5 ; r += i ; 5 + 4950 / max ; 5 ; r = i > r ? i : r ; 99 / min ; 5 ; r = i < r ? i : r ; 0 / | ; 0 ; r |= i ; 127 / * ; 3 ; r *= i == 50 ? 7 : 1 ; 21
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    EACH_DEVICE(d)
    {
        long r = @FIRST@;
#pragma omp target teams distribute parallel for device(d) reduction(@OP@ : r) map(tofrom : r)
        for (int i = 0; i < 100; i++)
            @STEP@;
        CHECK_EQ(r, @WANT@);
        r = @FIRST@;
#pragma omp target parallel for device(d) reduction(@OP@ : r) map(tofrom : r)
        for (int i = 0; i < 100; i++)
            @STEP@;
        CHECK_EQ(r, @WANT@);
    }
    return check_result();
}
