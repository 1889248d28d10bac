// what: omp_get_wtime @WHERE@ goes with the clock, never back; omp_get_wtick is a time it can tell
// languages: c, c++
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(3)") / in a task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task")
// each: MICROSECONDS = 0 / 20000
#include "check.h"
#include <time.h>
#include <unistd.h>
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
int main(void)
{
    CHECK(omp_get_wtick() > 0 && omp_get_wtick() <= 1e-3);
    @OPEN@
    {
        double outer = now(), start = omp_get_wtime(), last = start;
        usleep(@MICROSECONDS@);
        for (int i = 0; i < 1000; i++) {
            double next = omp_get_wtime();
            CHECK(next >= last);
            last = next;
        }
        double passed = now() - outer;
        CHECK(last - start >= 1e-6 * @MICROSECONDS@ * 0.99);
        CHECK(last - start <= passed + 1e-3);
    }
    return check_result();
}
