// what: a 200 x 200 wavefront of dependent tasks, ten times
// stress: yes
// alone: yes
// mode: preload
// threads: 2,4
// compilers: gcc,clang>=19
// opt: -O2
// timeout: 120
/* who sleeps in the kernel for a millisecond, for memory say, is stood in for by a spare kernel thread, which
 * is kept */
#define STEADY_LATE 2
#include "steady.h"
enum { N = 200 };
static unsigned a[N + 1][N + 1], want[N + 1][N + 1];
static void work(void)
{
    memset(a, 0, sizeof a);
    for (int i = 0; i <= N; i++)
        a[i][0] = a[0][i] = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++) {
#pragma omp task depend(in : a[i - 1][j], a[i][j - 1]) depend(out : a[i][j]) firstprivate(i, j)
            a[i][j] = a[i - 1][j] + a[i][j - 1];
        }
    CHECK_EQ(memcmp(a, want, sizeof a), 0);
}
int main(void)
{
    for (int i = 0; i <= N; i++)
        want[i][0] = want[0][i] = 1;
    for (int i = 1; i <= N; i++)
        for (int j = 1; j <= N; j++)
            want[i][j] = want[i - 1][j] + want[i][j - 1];
    /* How many of the 40,000 tasks wait for others at one time depends on timing, and with it the heap's
     * high-water mark; a leak of 64 bytes per task would show (8 x 40,000 x 64 = 20 MiB). */
    steady_within(work, 4096);
    return check_result();
}
