// what: thread_limit on teams and target, and the control variables inside a league, on the host
// env: OMP_TEAMS_THREAD_LIMIT=5
// skip: clang<19 does not know thread_limit on target
// flags: clang -fopenmp-version=51
// peers: libgomp fails, because a team sees what another one has set
// peers: libomp fails, because OMP_TEAMS_THREAD_LIMIT is not what omp_get_thread_limit says in a league
#include "check.h"
static int team_size(int wanted)
{
    int n = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : n)
    n++;
    return n;
}
static int default_threads;
static void check_league(int limit, int schedule_chunk)
{
    omp_sched_t kind;
    int chunk;
    CHECK_EQ(omp_get_level(), 0);
    CHECK_EQ(omp_get_thread_num(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    CHECK_EQ(omp_get_max_threads(), default_threads);
    CHECK_EQ(omp_get_thread_limit(), limit);
    CHECK(team_size(limit + 3) <= limit);
    CHECK(team_size(2) <= 2);
    omp_get_schedule(&kind, &chunk);
    CHECK_EQ(kind, omp_sched_dynamic);
    CHECK_EQ(chunk, schedule_chunk);
    CHECK_EQ(omp_get_max_active_levels(), 3);
    omp_set_schedule(omp_sched_static, 1); // stays in this team
    omp_set_num_threads(1 + omp_get_team_num());
    CHECK_EQ(omp_get_max_threads(), 1 + omp_get_team_num());
}
int main(void)
{
    int limit_before = omp_get_thread_limit(), teams = 0;
    default_threads = omp_get_max_threads();
    omp_set_schedule(omp_sched_dynamic, 9);
    omp_set_max_active_levels(3);
    CHECK_EQ(omp_get_teams_thread_limit(), 5);
#pragma omp teams num_teams(3) thread_limit(4) reduction(+ : teams)
    {
        check_league(4, 9);
        teams++;
    }
    CHECK(teams >= 1 && teams <= 3);
#pragma omp teams num_teams(2)
    check_league(5, 9);
    omp_set_teams_thread_limit(3);
    omp_set_num_teams(2);
    teams = 0;
#pragma omp teams reduction(+ : teams)
    {
        check_league(3, 9);
        teams++;
    }
    CHECK(teams >= 1 && teams <= 2);
    CHECK_EQ(omp_get_thread_limit(), limit_before);
    CHECK_EQ(omp_get_max_threads(), default_threads);
    int inside = 0, most = 0;
#pragma omp target thread_limit(3) map(from : inside, most)
    {
        inside = omp_get_thread_limit();
        most = team_size(8);
    }
    CHECK_EQ(inside, 3);
    CHECK(most <= 3);
    CHECK_EQ(omp_get_thread_limit(), limit_before);
    most = 0;
#pragma omp target teams num_teams(2) thread_limit(2) map(tofrom : most) reduction(max : most)
    most = team_size(8);
    CHECK(most >= 1 && most <= 2);
    CHECK_EQ(omp_get_thread_limit(), limit_before);
    most = 0; // teams-thread-limit-var, set to 3 above
#pragma omp target teams num_teams(2) map(tofrom : most) reduction(max : most)
    most = team_size(8);
    CHECK(most >= 1 && most <= 3);
    return check_result();
}
