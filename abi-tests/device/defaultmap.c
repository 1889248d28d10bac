// what: defaultmap(@RULE@): a scalar is @SCALAR@, an array @ARRAY@
// each: RULE ; SCALAR ; ARRAY = none : pointer ; copied ; mapped / tofrom : scalar ; mapped ; mapped / to : aggregate ; copied ; copied / firstprivate : scalar ; copied ; mapped
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
        int x = 1, a[3] = {1, 1, 1};
        double y = 1;
#pragma omp target device(d) defaultmap(@RULE@)
        {
            x += 1;
            y += 1;
            a[2] += 1;
        }
        int scalar = "@SCALAR@"[0] == 'm', array = "@ARRAY@"[0] == 'm';
        CHECK_EQ(x, scalar ? 2 : 1);
        CHECK_EQ(y, scalar ? 2 : 1);
        CHECK_EQ(a[2], array || !is_apart(d) ? 2 : 1);
    }
    return check_result();
}
