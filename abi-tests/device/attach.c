// what: a pointer mapped before what it points to is attached when that comes, and a copy back leaves it alone
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct list {
    int n;
    int *v;
};
int main(void)
{
    EACH_DEVICE(d)
    {
        int v[5] = {1, 2, 3, 4, 5}, sum = 0;
        struct list l = {5, v}, *pl = &l;
#pragma omp target enter data device(d) map(to : l)
#pragma omp target enter data device(d) map(to : l.v[0 : 5])
#pragma omp target device(d) map(tofrom : sum) map(alloc : l)
        for (int i = 0; i < l.n; i++) {
            sum += l.v[i];
            l.v[i] = 10 * i;
        }
        CHECK_EQ(sum, 15);
#pragma omp target device(d) map(tofrom : pl -> v[0 : 5], sum)
        sum += pl->v[4];
        CHECK_EQ(sum, 55);
#pragma omp target update device(d) from(v)
        CHECK_EQ(v[4], 40);
        CHECK(l.v == v);
        CHECK_EQ(l.n, 5);
#pragma omp target exit data device(d) map(delete : l.v[0 : 5])
#pragma omp target exit data device(d) map(delete : l)
        CHECK_EQ(omp_target_is_present(v, d) + omp_target_is_present(&l, d), APART(d, 0, 2));
    }
    return check_result();
}
