// what: map(@KIND@) of what is not present: copied @IN@ in, @OUT@ out
// each: KIND ; IN ; OUT = to ; 1 ; 0 / from ; 0 ; 1 / tofrom ; 1 ; 1 / alloc ; 0 ; 0 / always, to ; 1 ; 0 / always, from ; 0 ; 1 / always, tofrom ; 1 ; 1
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct wide { char c[40]; double d; };
int main(void)
{
    EACH_DEVICE(d)
    {
        int x = 1, seen = 0, y[3] = {1, 2, 3};
        struct wide w = {{7}, 0.5};
#pragma omp target device(d) map(@KIND@ : x, y, w) map(from : seen)
        {
            seen = @IN@ ? x + y[2] + w.c[0] + (w.d == 0.5) : 0;
            x = 5;
            y[0] = y[1] = y[2] = 50;
            w.c[0] = w.c[39] = 9;
        }
        CHECK_EQ(seen, @IN@ ? 12 : 0);
        CHECK_EQ(x, @OUT@ || !is_apart(d) ? 5 : 1);
        CHECK_EQ(y[2], @OUT@ || !is_apart(d) ? 50 : 3);
        CHECK_EQ(w.c[0], @OUT@ || !is_apart(d) ? 9 : 7);
        CHECK_EQ(omp_target_is_present(&x, d), !is_apart(d));
    }
    return check_result();
}
