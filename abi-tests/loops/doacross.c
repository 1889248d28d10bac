// what: doacross: ordered(1) and ordered(2) with sink and source, static and dynamic
#include "check.h"
#define N 20
static int a[N][N], line[500];
int main(void)
{
    for (int round = 0; round < 1; round++) {
        memset(a, 0, sizeof a);
        memset(line, 0, sizeof line);
#pragma omp parallel
        {
#pragma omp for ordered(1) schedule(static, 1)
            for (int i = 0; i < 500; i++) {
#pragma omp ordered depend(sink : i - 1)
                line[i] = (i > 0 ? line[i - 1] : 0) + i;
#pragma omp ordered depend(source)
            }
#pragma omp for ordered(2) schedule(dynamic)
            for (int i = 0; i < N; i++)
                for (int j = 0; j < N; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                    int up = i ? a[i - 1][j] : 1, left = j ? a[i][j - 1] : 1;
                    a[i][j] = (up + left) % 10007;
#pragma omp ordered depend(source)
                }
        }
        static int want[N][N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                want[i][j] = ((i ? want[i - 1][j] : 1) + (j ? want[i][j - 1] : 1)) % 10007;
                if (a[i][j] != want[i][j])
                    CHECK_EQ(a[i][j], want[i][j]);
            }
        for (int i = 0; i < 500; i++)
            if (line[i] != i * (i + 1) / 2)
                CHECK_EQ(line[i], i * (i + 1) / 2);
        CHECK(1);
    }
    return check_result();
}
