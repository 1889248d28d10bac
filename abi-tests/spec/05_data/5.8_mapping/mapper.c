// what: declare mapper, used by @USE@ on the host
// languages: c, c++
// each: USE ; CLAUSE = its name ; map(mapper(ends), tofrom : v) / default ; map(tofrom : v)
// compilers: clang>=19
#include "check.h"
struct vector { int length; int *data; };
#pragma omp declare mapper(ends : struct vector v) map(v, v.data[0 : v.length])
#pragma omp declare mapper(struct vector v) map(v, v.data[0 : v.length])
int main(void)
{
    int data[20] = {0};
    struct vector v = {20, data};
#pragma omp target @CLAUSE@
    for (int i = 0; i < v.length; i++)
        v.data[i] += i;
    for (int i = 0; i < 20; i++)
        CHECK_EQ(data[i], i);
    return check_result();
}
