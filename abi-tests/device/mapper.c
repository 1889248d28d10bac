// what: declare mapper: @WHAT@
// each: WHAT ; MAPPER ; BEFORE ; WITH ; AFTER = default, at the region ; mapper(struct s s) ; taskwait ; map(tofrom : a) ; taskwait / named ; mapper(deep : struct s s) ; taskwait ; map(mapper(deep), tofrom : a) ; taskwait / a section ; mapper(struct s s) ; taskwait ; map(tofrom : a[0:3]) ; taskwait / by enter and exit data ; mapper(struct s s) ; target enter data device(d) map(to : a) ; map(alloc : a) ; target exit data device(d) map(from : a) / by enter data and update ; mapper(struct s s) ; target enter data device(d) map(to : a) ; map(alloc : a) ; target update device(d) from(a)
// compilers: clang>=19
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct s { int n; double *p; int other; };
#pragma omp declare @MAPPER@ map(s.n) map(s.p[0:s.n])
#define DO(text) _Pragma(#text)
int main(void)
{
    EACH_DEVICE(d)
    {
        struct s a[3];
        for (int k = 0; k < 3; k++) {
            a[k] = (struct s){k + 2, malloc(8 * (k + 2)), 1};
            for (int i = 0; i < a[k].n; i++)
                a[k].p[i] = 10 * k + i;
        }
        DO(omp @BEFORE@)
#pragma omp target device(d) @WITH@
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < a[k].n; i++)
                a[k].p[i] = a[k].p[i] * 2 + 1;
        DO(omp @AFTER@)
        for (int k = 0; k < 3; k++) {
            CHECK_EQ(a[k].n, k + 2);
            for (int i = 0; i < a[k].n; i++)
                CHECK_EQ(a[k].p[i], 2 * (10 * k + i) + 1);
        }
        for (int k = 0; k < 3; k++) {
#pragma omp target exit data device(d) map(delete : a[k])
            CHECK_EQ(omp_target_is_present(a[k].p, d), !is_apart(d));
        }
    }
    return check_result();
}
