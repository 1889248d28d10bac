// what: @CLAUSE@ on target: seen @SEEN@, and the original keeps its value
// each: CLAUSE ; SEEN = firstprivate(x, a, c, s) ; 1 / private(x, a, c, s) ; 0 / firstprivate(x, a, c, s) nowait ; 1
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
struct s { char c[100]; };
int main(void)
{
    EACH_DEVICE(d)
    {
        int x = 3, a[5] = {1, 2, 3, 4, 5}, seen = -1;
        char c = 9;
        struct s s = {{0}};
        s.c[99] = 33;
#pragma omp target device(d) @CLAUSE@ map(from : seen)
        {
            seen = @SEEN@ ? x + a[4] + c + s.c[99] : 0;
            x = a[4] = c = s.c[99] = 77;
        }
#pragma omp taskwait
        CHECK_EQ(seen, @SEEN@ ? 50 : 0);
        CHECK_EQ(x + a[4] + c + s.c[99], 50);
        CHECK_EQ(omp_target_is_present(a, d), !is_apart(d));
    }
    return check_result();
}
