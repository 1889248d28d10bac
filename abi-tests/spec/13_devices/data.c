// what: @DIRECTIVE@ around target on the host
// languages: c, c++
// each: DIRECTIVE ; OPEN ; CLOSE = enter and exit ; target enter data map(to : a) ; target exit data map(from : a) / update ; target update to(a) ; target update from(a) / without waiting ; target enter data map(to : a) nowait depend(out : a) ; target exit data map(from : a) nowait depend(in : a) / release ; target enter data map(alloc : a) ; target exit data map(release : a) / conditional ; target enter data map(to : a) if(0) ; target update from(a) if(0) / slice ; target enter data map(to : a[10:50]) ; target exit data map(delete : a[10:50])
// each: CLAUSE = map(tofrom : a) / map(alloc : a) / map(always, tofrom : a) / map(tofrom : a) depend(inout : a)
#include "check.h"
int main(void)
{
    int a[100], host = 0;
    for (int i = 0; i < 100; i++)
        a[i] = i;
#pragma omp @OPEN@
#pragma omp target @CLAUSE@ map(from : host)
    {
        host = omp_is_initial_device();
        for (int i = 0; i < 100; i++)
            a[i] += 5;
    }
#pragma omp @CLOSE@
#pragma omp taskwait
    CHECK_EQ(host, 1);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(a[i], i + 5);
    return check_result();
}
