// what: collapsed loops whose inner bounds depend on the outer index
#include "check.h"
int main(void)
{
    static int seen[40][40];
    long sum = 0;
#ifdef __clang__
#define SCHEDULE schedule(dynamic, 5)
#else /* gcc 12 takes no schedule here */
#define SCHEDULE
#endif
#pragma omp parallel for collapse(2) SCHEDULE reduction(+ : sum)
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < i; j++) {
            seen[i][j]++;
            sum += i * 40 + j;
        }
    long want = 0;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 40; j++) {
            if (seen[i][j] != (j < i))
                CHECK_EQ(seen[i][j], j < i);
            if (j < i)
                want += i * 40 + j;
        }
    CHECK_EQ(sum, want);
    sum = want = 0;
#pragma omp parallel for collapse(2) reduction(+ : sum)
    for (int i = 0; i < 30; i++)
        for (int j = i; j < 30; j++)
            sum += i + 3 * j;
    for (int i = 0; i < 30; i++)
        for (int j = i; j < 30; j++)
            want += i + 3 * j;
    CHECK_EQ(sum, want);
    return check_result();
}
