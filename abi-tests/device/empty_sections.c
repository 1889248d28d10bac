// what: sections of no bytes, and pointers that point to nothing mapped, keep the host's address; others get the device's
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
        int v[10], *p = v, *q = NULL, *loose = v + 5, n = 0;
        void *in_p = NULL, *in_q = (void *)1, *in_loose = NULL;
#pragma omp target device(d) map(from : in_loose, in_q) map(alloc : q[0 : n])
        {
            in_loose = loose;
            in_q = q;
        }
        CHECK(in_q == NULL);
        CHECK(in_loose == (void *)loose);
#pragma omp target data device(d) map(to : v)
        {
#pragma omp target device(d) map(from : in_p, in_loose) map(alloc : p[0 : n])
            {
                in_p = p;
                in_loose = loose;
            }
            CHECK_EQ(in_p != (void *)p, is_apart(d));
            CHECK_EQ((char *)in_loose - (char *)in_p, 5 * (int)sizeof(int));
        }
        CHECK_EQ(omp_target_is_present(v, d), !is_apart(d));
    }
    return check_result();
}
