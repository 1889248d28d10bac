// what: teams @CLAUSES@: league, team and thread numbers
// languages: c, c++
// each: CLAUSES ; TEAMS ; THREADS = num_teams(1) ; 1 ; 1000 / num_teams(3) ; 3 ; 1000 / num_teams(2) thread_limit(2) ; 2 ; 2 / num_teams(4) thread_limit(1) ; 4 ; 1 / num_teams(7) thread_limit(3) ; 7 ; 3
// each: INSIDE ; CLAUSE = parallel ; / two threads ; num_threads(2)
// peers: libomp fails, because its leagues are no larger than the machine has processors
#include "check.h"
/* gcc takes few routines directly inside teams. */
static int threads_here(void) { return omp_get_num_threads(); }
static int level_here(void) { return omp_get_level(); }
static int limit_here(void) { return omp_get_thread_limit(); }
int main(void)
{
    int teams[8] = {0}, threads[8] = {0};
#pragma omp teams @CLAUSES@ shared(teams, threads)
    {
        int team = omp_get_team_num();
        CHECK_EQ(omp_get_num_teams(), @TEAMS@);
        CHECK_EQ(threads_here(), 1);
        CHECK_EQ(level_here(), 0);
        CHECK(limit_here() >= 1);
        teams[team]++;
#pragma omp parallel @CLAUSE@ shared(threads)
        {
            CHECK(omp_get_num_threads() <= @THREADS@);
            CHECK_EQ(omp_get_team_num(), team);
            CHECK_EQ(omp_get_num_teams(), @TEAMS@);
#pragma omp atomic
            threads[team]++;
        }
    }
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(teams[i], i < @TEAMS@);
        CHECK(i < @TEAMS@ ? threads[i] >= 1 && threads[i] <= @THREADS@ : threads[i] == 0);
    }
    CHECK_EQ(omp_get_num_teams(), 1);
    CHECK_EQ(omp_get_team_num(), 0);
    return check_result();
}
