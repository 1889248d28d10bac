// what: collapse 2 and 3 with odd steps and directions, and under dynamic schedules
#include "check.h"
static int seen[20][30][10];
static void all(int a, int b, int c)
{
    for (int i = 0; i < 20; i++)
        for (int j = 0; j < 30; j++)
            for (int k = 0; k < 10; k++)
                if (seen[i][j][k] != (i < a && j < b && k < c))
                    CHECK_EQ(seen[i][j][k], i < a && j < b && k < c);
    CHECK(1);
    memset(seen, 0, sizeof seen);
}
int main(void)
{
    int n = 20, m = 30, l = 10;
#pragma omp parallel for collapse(2)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            seen[i][j][0]++;
    all(20, 30, 1);
#pragma omp parallel for collapse(3) schedule(dynamic, 7)
    for (int i = n - 1; i >= 0; i--)
        for (long j = 0; j < 2 * m; j += 2)
            for (unsigned k = 0; k < (unsigned)l; k++)
                __atomic_fetch_add(&seen[i][j / 2][k], 1, __ATOMIC_RELAXED);
    all(20, 30, 10);
#pragma omp parallel for collapse(3) schedule(guided)
    for (unsigned long long i = 0; i < 7; i++)
        for (int j = 5; j > 0; j--)
            for (int k = 0; k < 4; k++)
                seen[i][j - 1][k]++;
    all(7, 5, 4);
#pragma omp parallel for collapse(2) schedule(static, 1)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < 0; j++)
            seen[i][j][0]++;
    all(0, 0, 0);
    int last_i = -1, last_j = -1;
#pragma omp parallel for collapse(2) lastprivate(last_i, last_j)
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 4; j++)
            last_i = i, last_j = j;
    CHECK_EQ(last_i, 5);
    CHECK_EQ(last_j, 3);
    return check_result();
}
