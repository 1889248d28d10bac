// what: enter data, update and exit data with nowait and dependences are in order with tasks and regions
// each: DELAY = 0 / 200
// env: GANGWAY_HOST_DEVICE_DELAY=@DELAY@
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
        int v[100], *p = v, at[3] = {0, 0, 0};
#pragma omp parallel
#pragma omp single
        {
#pragma omp task depend(out : v) shared(v)
            for (int i = 0; i < 100; i++)
                v[i] = i;
#pragma omp target enter data nowait depend(inout : v) device(d) map(to : p[0:100])
#pragma omp target nowait depend(inout : v) device(d) map(tofrom : p[0:100])
            for (int i = 0; i < 100; i++)
                p[i] *= 2;
#pragma omp task depend(inout : v) shared(v, at)
            at[0] = v[99];
#pragma omp target update nowait depend(inout : v) device(d) from(p[0:100])
#pragma omp task depend(inout : v) shared(v, at)
            {
                at[1] = v[99];
                v[99] = 5;
            }
#pragma omp target update nowait depend(inout : v) device(d) to(p[99:1])
#pragma omp target nowait depend(inout : v) device(d) map(alloc : p[0:100])
            p[99] += 1;
#pragma omp target exit data nowait depend(inout : v) device(d) map(from : p[0:100])
#pragma omp taskwait
            at[2] = v[99];
        }
        CHECK_EQ(at[0], APART(d, 99, 198));
        CHECK_EQ(at[1], 198);
        CHECK_EQ(at[2], 6);
        CHECK_EQ(v[50], 100);
        CHECK_EQ(omp_target_is_present(v, d), !is_apart(d));
    }
    return check_result();
}
