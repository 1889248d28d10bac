// what: asynchronous copies wait for what they depend on
// compilers: clang>=19
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
        int a[8] = {0}, b[8] = {0}, host = omp_get_initial_device(), *p = omp_target_alloc(sizeof a, d);
        size_t volume[1] = {4}, at[1] = {2}, size[1] = {8};
#pragma omp parallel num_threads(3)
#pragma omp single
        {
            omp_depend_t o;
#pragma omp depobj(o) depend(inout : a)
#pragma omp task depend(out : a) shared(a)
            for (int i = 0; i < 8; i++)
                a[i] = i + 1;
            CHECK_EQ(omp_target_memcpy_async(p, a, sizeof a, 0, 0, d, host, 1, &o), 0);
            CHECK_EQ(omp_target_memcpy_rect_async(b, p, 4, 1, volume, at, at, size, size, host, d, 1, &o), 0);
#pragma omp taskwait
#pragma omp depobj(o) destroy
        }
        for (int i = 0; i < 8; i++)
            CHECK_EQ(b[i], i >= 2 && i < 6 ? i + 1 : 0);
        omp_target_free(p, d);
    }
    return check_result();
}
