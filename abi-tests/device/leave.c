// what: exit data map(@KIND@) @CASE@ @ENTERED@ entries: @LEFT@ are left, copied back: @OUT@
// each: CASE ; KIND ; ENTERED ; LEFT ; OUT = release after one of ; release ; 1 ; 0 ; 0 / release after ; release ; 2 ; 1 ; 0 / from after one of ; from ; 1 ; 0 ; 1 / from after ; from ; 2 ; 1 ; 0 / always from after ; always, from ; 2 ; 1 ; 1 / delete after one of ; delete ; 1 ; 0 ; 0 / delete after ; delete ; 4 ; 0 ; 0
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
        double x = 1;
        for (int i = 0; i < @ENTERED@; i++) {
#pragma omp target enter data device(d) map(to : x)
        }
#pragma omp target device(d) map(alloc : x)
        x = 2;
#pragma omp target exit data device(d) map(@KIND@ : x)
        CHECK_EQ(x, APART(d, @OUT@ ? 2 : 1, 2));
        CHECK_EQ(omp_target_is_present(&x, d), APART(d, @LEFT@ > 0, 1));
#pragma omp target exit data device(d) map(delete : x)
        CHECK_EQ(omp_target_is_present(&x, d), !is_apart(d));
#pragma omp target exit data device(d) map(from : x)
        CHECK_EQ(x, APART(d, @OUT@ ? 2 : 1, 2));
    }
    return check_result();
}
