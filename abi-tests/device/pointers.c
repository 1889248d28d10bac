// what: pointer members: mapped with what they point to, attached, and unharmed on the host
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct s {
    int n;
    double *p;
    int *q;
    int m;
};
int main(void)
{
    EACH_DEVICE(d)
    {
        double v[10], *keep = v;
        int w[4] = {1, 2, 3, 4};
        for (int i = 0; i < 10; i++)
            v[i] = i;
        struct s s = {10, v, w, 7};
#pragma omp target device(d) map(tofrom : s.p[0 : 10]) map(to : s.n, s.p, s.m)
        for (int i = 0; i < s.n; i++)
            s.p[i] += s.m;
        CHECK(s.p == keep && v[9] == 16 && s.n == 10);
#pragma omp target device(d) map(tofrom : s.p[2 : 3], s.q[1 : 2], s.n) map(to : s.p, s.q)
        {
            s.p[4] = -1;
            s.q[2] = s.q[1] * 10;
            s.n = 3;
        }
        CHECK(s.p == keep && s.q == w && v[4] == -1 && v[5] == 12 && w[2] == 20 && s.n == 3);
        CHECK_EQ(omp_target_is_present(v, d), !is_apart(d));
    }
    return check_result();
}
