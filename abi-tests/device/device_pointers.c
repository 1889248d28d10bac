// what: addresses of the device: @WHAT@
// each: WHAT ; DATA ; REGION ; NAME = use_device_ptr and is_device_ptr ; map(tofrom : p[0:50]) use_device_ptr(p) ; is_device_ptr(p) ; p / use_device_addr and has_device_addr ; map(tofrom : v) use_device_addr(v) ; has_device_addr(v) ; v
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
        int v[50], *p = v, *host = v;
        for (int i = 0; i < 50; i++)
            v[i] = i;
        void *inside = NULL;
#pragma omp target data device(d) @DATA@
        {
            inside = @NAME@;
#pragma omp target device(d) @REGION@
            for (int i = 0; i < 50; i++)
                @NAME@[i] += 7;
        }
        CHECK_EQ(inside != (void *)host, is_apart(d));
        CHECK(p == host);
        for (int i = 0; i < 50; i++)
            CHECK_EQ(v[i], i + 7);
    }
    return check_result();
}
