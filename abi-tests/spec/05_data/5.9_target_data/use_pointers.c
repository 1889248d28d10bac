// what: target data @CLAUSE@ on the host: the address is the same
// languages: c, c++
// each: CLAUSE ; HAVE = use_device_ptr(p) ; p / use_device_addr(a) ; &a[0]
// each: OUTER = target data map(tofrom : a) / parallel num_threads(1)
#include "check.h"
int main(void)
{
    int a[8] = {0}, *p = a;
#pragma omp @OUTER@
    {
#pragma omp target data map(tofrom : a) @CLAUSE@
        {
            int *q = @HAVE@;
            CHECK(q == a);
#pragma omp target is_device_ptr(q)
            for (int i = 0; i < 8; i++)
                q[i] = i + 1;
        }
    }
    CHECK_EQ(p[7], 8);
    return check_result();
}
