// what: teams, distribute and distribute parallel for on the host
#include "check.h"
int main(void)
{
    static int seen[1000];
    int teams = 0, most = 0, numbers[64] = {0};
#pragma omp teams num_teams(3) thread_limit(2)
    {
        int t = omp_get_team_num();
        CHECK(t >= 0 && t < omp_get_num_teams());
        CHECK(omp_get_num_teams() >= 1 && omp_get_num_teams() <= 3);
        __atomic_fetch_add(&numbers[t], 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&teams, 1, __ATOMIC_RELAXED);
#pragma omp parallel reduction(max : most)
        {
            CHECK(omp_get_num_threads() <= 2);
            CHECK_EQ(omp_get_team_num(), t);
            most = omp_get_num_threads();
        }
    }
    CHECK(teams >= 1 && teams <= 3);
    for (int i = 0; i < 64; i++)
        CHECK_EQ(numbers[i], i < teams);
#pragma omp teams num_teams(2)
#pragma omp distribute
    for (int i = 0; i < 1000; i++)
        seen[i]++;
    long sum = 0;
#pragma omp teams distribute parallel for num_teams(2) reduction(+ : sum) dist_schedule(static, 50) \
    schedule(dynamic, 7)
    for (int i = 0; i < 1000; i++) {
        seen[i]++;
        sum += i;
    }
#pragma omp teams distribute collapse(2)
    for (int i = 0; i < 10; i++)
        for (int j = 0; j < 100; j++)
            seen[i * 100 + j]++;
    CHECK_EQ(sum, 499500);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(seen[i], 3);
    return check_result();
}
