// what: members of structures: map(tofrom : @LIST@)
// each: LIST ; TOUCHED = s ; A | B | C | V / s.a ; A / s.b ; B / s.a, s.c ; A | C / s.a, s.b, s.c ; A | B | C / s.v ; V / s.a, s.v[2:3] ; A | V
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct s { int a; double b; char c; int v[8]; };
enum { A = 1, B = 2, C = 4, V = 8 };
int main(void)
{
    EACH_DEVICE(d)
    {
        struct s s = {1, 2.5, 3, {0, 1, 2, 3, 4, 5, 6, 7}};
        int touched = @TOUCHED@;
#pragma omp target device(d) map(tofrom : @LIST@) firstprivate(touched)
        {
            if (touched & A)
                s.a += 10;
            if (touched & B)
                s.b += 10;
            if (touched & C)
                s.c += 10;
            if (touched & V)
                s.v[3] += 10;
        }
        CHECK_EQ(s.a, touched & A ? 11 : 1);
        CHECK(s.b == (touched & B ? 12.5 : 2.5));
        CHECK_EQ(s.c, touched & C ? 13 : 3);
        CHECK_EQ(s.v[3], touched & V ? 13 : 3);
        CHECK_EQ(s.v[7], 7);
        CHECK_EQ(omp_target_is_present(&s.a, d), !is_apart(d));
    }
    return check_result();
}
