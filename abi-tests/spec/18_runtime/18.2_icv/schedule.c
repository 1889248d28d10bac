// what: omp_set_schedule(@KIND@, @CHUNK@), @WHERE@: get returns it, and schedule(runtime) goes by it
// languages: c, c++
// each: KIND ; FIXED = static ; 1 / dynamic ; 0 / guided ; 0
// each: CHUNK ; SIZE = 1 ; 1 / 4 ; 4 / 7 ; 7 / 1000 ; 1000
// each: WHERE ; OPEN = outside ; (void)0; / by a region that forks another ; _Pragma("omp parallel num_threads(1)") / in a task ; _Pragma("omp task if(0)")
#include "check.h"
int main(void)
{
    int owner[60], n = 4;
    omp_set_dynamic(0);
    omp_sched_t before, kind;
    int old, size;
    omp_get_schedule(&before, &old);
    @OPEN@
    {
        omp_set_schedule(omp_sched_@KIND@, @CHUNK@);
        omp_get_schedule(&kind, &size);
        CHECK_EQ(kind & 0x7fffffff, omp_sched_@KIND@);
        CHECK_EQ(size, @SIZE@);
        for (int i = 0; i < 60; i++)
            owner[i] = -1;
#pragma omp parallel for schedule(runtime) num_threads(4) shared(owner)
        for (int i = 0; i < 60; i++) {
            CHECK_EQ(owner[i], -1);
            owner[i] = omp_get_thread_num();
        }
        for (int i = 0; i < 60; i++) {
            CHECK(owner[i] >= 0 && owner[i] < n);
            if (@FIXED@)
                CHECK_EQ(owner[i], i / @SIZE@ % n);
            else if (@SIZE@ > 1 && i % @SIZE@ != 0 && !(*"@KIND@" == 'g'))
                CHECK_EQ(owner[i], owner[i - 1]);
        }
    }
    return check_result() + (old < -1);
}
