// what: distribute with dist_schedule(@DIST@) over @TEAMS@ teams of @TYPE@: each iteration once, chunks in order
// languages: c, c++
// each: DIST ; CHUNK = static ; 0 / static, 1 ; 1 / static, 8 ; 8
// each: TEAMS = 1 / 3 / 5
// each: TYPE = int / unsigned long long
#include "check.h"
int main(void)
{
    int team[101], runs = 0, teams = 0;
#pragma omp teams num_teams(@TEAMS@) shared(team, teams)
    {
        if (omp_get_team_num() == 0)
            teams = omp_get_num_teams();
#pragma omp distribute dist_schedule(@DIST@)
        for (@TYPE@ i = 0; i < 101; i++) {
            team[i] = omp_get_team_num();
            __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);
        }
    }
    CHECK_EQ(runs, 101);
    CHECK(teams >= 1 && teams <= @TEAMS@);
    for (int i = 0; i < 101; i++) {
        if (@CHUNK@)
            CHECK_EQ(team[i], i / (@CHUNK@ + !@CHUNK@) % teams);
        else
            CHECK(team[i] >= 0 && team[i] < teams && (i == 0 || team[i] >= team[i - 1]));
    }
    return check_result();
}
