// what: array sections: @WHAT@
// each: WHAT ; DECL ; LIST ; FROM ; TO = whole ; long a[40] ; a ; 0 ; 40 / part ; long a[40] ; a[8:16] ; 8 ; 24 / from the middle on ; long a[40] ; a[30:] ; 30 ; 40 / up to the middle ; long a[40] ; a[:12] ; 0 ; 12 / by a pointer ; long *a = p ; a[0:40] ; 0 ; 40 / part by a pointer ; long *a = p ; a[5:20] ; 5 ; 25 / with variables ; long *a = p ; a[n/8:n/2] ; 5 ; 25 / one element ; long *a = p ; a[39:1] ; 39 ; 40
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
int main(void)
{
    int n = 40;
    EACH_DEVICE(d)
    {
        long store[40], *p = store;
        (void)p;
        (void)n;
        @DECL@;
        for (int i = 0; i < 40; i++)
            a[i] = i;
#pragma omp target device(d) map(tofrom : @LIST@)
        for (int i = @FROM@; i < @TO@; i++)
            a[i] = a[i] * 3 + 1;
        for (int i = 0; i < 40; i++)
            CHECK_EQ(a[i], i >= @FROM@ && i < @TO@ ? 3 * i + 1 : i);
#pragma omp target enter data device(d) map(to : @LIST@)
        CHECK_EQ(omp_target_is_present(&a[@FROM@], d), 1);
        CHECK_EQ(omp_target_is_present(&a[@TO@ - 1], d), 1);
        if (@FROM@ > 0)
            CHECK_EQ(omp_target_is_present(&a[@FROM@ - 1], d), !is_apart(d));
        a[@FROM@] = -1;
#pragma omp target update device(d) from(a[@FROM@:1])
        CHECK_EQ(a[@FROM@], APART(d, 3 * @FROM@ + 1, -1));
        a[@FROM@] = -2;
#pragma omp target update device(d) to(a[@FROM@:1])
#pragma omp target exit data device(d) map(from : @LIST@)
        CHECK_EQ(a[@FROM@], -2);
        CHECK_EQ(a[@TO@ - 1], @TO@ - 1 == @FROM@ ? -2 : 3 * (@TO@ - 1) + 1);
    }
    return check_result();
}
