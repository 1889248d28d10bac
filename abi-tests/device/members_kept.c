// what: members entered together count as one structure, by themselves or through a pointer
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct s {
    int a, b, c, d;
};
int main(void)
{
    EACH_DEVICE(d)
    {
        struct s s = {1, 2, 3, 4}, *q = &s;
#pragma omp target enter data device(d) map(to : s.b, s.d)
        CHECK_EQ(omp_target_is_present(&s.b, d), 1);
        CHECK_EQ(omp_target_is_present(&s.d, d), 1);
        CHECK_EQ(omp_target_is_present(&s.a, d), !is_apart(d));
        s.b = 20;
#ifdef __clang__
#pragma omp target device(d) map(tofrom : q -> b, q->d)
        {
            q->b += 100;
            q->d += 100;
        }
#else // gcc 12 takes the last member's address for the structure's
        (void)q;
#pragma omp target device(d) map(tofrom : s.b, s.d)
        {
            s.b += 100;
            s.d += 100;
        }
#endif
        CHECK_EQ(s.b, APART(d, 20, 120));
        CHECK_EQ(s.d, APART(d, 4, 104));
#pragma omp target update device(d) from(s.d)
        CHECK_EQ(s.d, 104);
        CHECK_EQ(s.b, APART(d, 20, 120));
#pragma omp target exit data device(d) map(from : s.b, s.d)
        CHECK_EQ(s.b, APART(d, 102, 120));
        CHECK_EQ(omp_target_is_present(&s.d, d), !is_apart(d));
        CHECK_EQ(s.a + s.c, 4);
    }
    return check_result();
}
