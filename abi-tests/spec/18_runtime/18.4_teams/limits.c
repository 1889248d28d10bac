// what: @SET@(@VALUE@): get says so, and leagues and teams keep to it, @WHERE@
// languages: c, c++
// each: SET ; GET ; TEAMS ; THREADS = omp_set_num_teams ; omp_get_max_teams ; @VALUE@ ; 1000 / omp_set_teams_thread_limit ; omp_get_teams_thread_limit ; 1000 ; @VALUE@
// each: VALUE = 1 / 2 / 5
// each: WHERE ; CLAUSE = by construct ; / with a larger clause ; num_teams(3)
// skip: clang<19 borrows a newer omp.h
// peers: libomp fails, because its leagues are no larger than the machine has processors
#include "check.h"
static int league(void) { return omp_get_num_teams(); }
int main(void)
{
    int largest = 0, teams = 0, with_clause = sizeof "@CLAUSE@" > 1;
    @SET@(@VALUE@);
    CHECK_EQ(@GET@(), @VALUE@);
#pragma omp teams @CLAUSE@ reduction(max : teams, largest)
    {
        teams = league();
#pragma omp parallel reduction(max : largest)
        largest = omp_get_num_threads();
    }
    CHECK(teams >= 1 && largest >= 1);
    CHECK(with_clause ? teams == 3 : teams <= @TEAMS@);
    CHECK(largest <= @THREADS@);
    CHECK_EQ(@GET@(), @VALUE@);
    CHECK_EQ(omp_get_num_teams(), 1);
    CHECK_EQ(omp_get_team_num(), 0);
    return check_result();
}
