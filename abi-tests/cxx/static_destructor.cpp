// what: a static object's destructor enters a region after main
// expect-stdout: right at the end
#include "check.h"
struct last {
    ~last()
    {
        int sum = 0, n = omp_get_max_threads();
#pragma omp parallel reduction(+ : sum)
        sum++;
        puts(sum == n ? "right at the end" : "wrong at the end");
        fflush(stdout);
        if (sum != n)
            _Exit(1);
    }
};
static last object;
int main()
{
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    CHECK_EQ(n, omp_get_max_threads());
    return check_result();
}
