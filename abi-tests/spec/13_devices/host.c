// what: target @CLAUSES@ on the host: @RULE@, @WHERE@
// languages: c, c++
// each: CLAUSES ; RULE ; WANT = map(tofrom : x, a) ; stores come back ; 7 / map(tofrom : x, a) if(0) ; runs here ; 7 / firstprivate(x) map(tofrom : a) ; x is a copy ; 3 / private(x) map(tofrom : a) ; x is private ; 3 / map(tofrom : x, a[0:4]) device(omp_get_initial_device()) ; on the device named ; 7 / defaultmap(tofrom : scalar) ; x is mapped ; 7 / map(tofrom : x, a) nowait ; after taskwait ; 7 / map(tofrom : x, a) depend(inout : x) ; after taskwait ; 7
// each: WHERE ; OPEN = outside regions ; omp target data map(tofrom : x, a) / in one thread ; omp parallel num_threads(1) / in a task ; omp task if(0) shared(x, a, host)
#include "check.h"
int main(void)
{
    int x = 3, a[4] = {1, 2, 3, 4}, host = 0;
#pragma @OPEN@
    {
#pragma omp target @CLAUSES@ map(from : host)
        {
            host = omp_is_initial_device();
            x = 7;
            for (int i = 0; i < 4; i++)
                a[i] *= 14;
        }
#pragma omp taskwait
    }
    CHECK_EQ(host, 1);
    CHECK_EQ(x, @WANT@);
    CHECK_EQ(a[0] + a[3], 70);
    return check_result();
}
