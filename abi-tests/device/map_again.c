// what: map(@KIND@) of what is present: copied @IN@ in, @OUT@ out, and held by @COUNT@ more
// each: KIND ; IN ; OUT = to ; 0 ; 0 / from ; 0 ; 0 / tofrom ; 0 ; 0 / alloc ; 0 ; 0 / always, to ; 1 ; 0 / always, from ; 0 ; 1 / always, tofrom ; 1 ; 1
// each: COUNT = 1 / 3
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
        int a[4] = {1, 1, 1, 1}, seen = 0;
        for (int i = 0; i < @COUNT@; i++) {
#pragma omp target enter data device(d) map(to : a)
        }
        a[1] = 2;
#pragma omp target device(d) map(@KIND@ : a) map(from : seen)
        {
            seen = a[1];
            a[1] = 5;
        }
        CHECK_EQ(seen, APART(d, @IN@ ? 2 : 1, 2));
        CHECK_EQ(a[1], APART(d, @OUT@ ? 5 : 2, 5));
        for (int i = 0; i < @COUNT@; i++) {
            CHECK_EQ(omp_target_is_present(a, d), 1);
            CHECK_EQ(a[1], APART(d, @OUT@ ? 5 : 2, 5));
#pragma omp target exit data device(d) map(from : a)
        }
        CHECK_EQ(a[1], 5);
        CHECK_EQ(omp_target_is_present(a, d), !is_apart(d));
    }
    return check_result();
}
