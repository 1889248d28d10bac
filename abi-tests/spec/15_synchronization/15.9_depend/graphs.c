// what: tasks over @SHAPE@ by dependences give the sequential answer, @N@ of them, @WORD@
// languages: c, c++
// each: SHAPE ; CLAUSES ; WORK = a chain ; depend(inout : a[0]) ; a[0] = a[0] * 3 + k / a stencil ; depend(in : a[(k + 1) % M], a[(k + 2) % M]) depend(inout : a[k % M]) ; a[k % M] += 3 * a[(k + 1) % M] + 5 * a[(k + 2) % M] + k / a fan ; depend(out : a[k % 7]) depend(in : a[7]) ; a[k % 7] = a[7] + k * a[k % 7] / duplicates ; depend(in : a[k % M]) depend(inout : a[k % M], a[k % 2]) ; a[k % M] += a[k % 2] + k, a[k % 2] ^= k / iterator ; depend(iterator(int j = 0 : M), inout : a[j]) ; a[k % M] += a[(k * 5) % M] + 1 / strided iterator ; depend(iterator(j = k % 2 : M : 2), inout : a[j]) ; a[k % M & ~1 | k % 2] += a[k * 2 % M & ~1 | k % 2] + 1
// each: N = 10 / 300
// each: WORD = / untied
#include "check.h"
enum { M = 16 };
static void alone(unsigned *a)
{
    for (int k = 0; k < @N@; k++) {
        @WORK@;
    }
}
int main(void)
{
    unsigned a[M], want[M];
    for (unsigned i = 0; i < M; i++)
        a[i] = want[i] = i + 1;
    alone(want);
#pragma omp parallel shared(a)
#pragma omp single
    for (int k = 0; k < @N@; k++) {
#pragma omp task @WORD@ @CLAUSES@ shared(a) firstprivate(k)
        {
            @WORK@;
        }
    }
    for (int i = 0; i < M; i++)
        CHECK_EQ(a[i], want[i]);
    return check_result();
}
