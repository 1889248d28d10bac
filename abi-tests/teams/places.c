// what: the teams of a league share the places: by default each gets a part of them
// env: OMP_PLACES=threads OMP_PROC_BIND=true
// threads: 2
// mode: preload,symlink
// skip: gcc takes all places for every team
// skip: clang<19 has a libomp that takes all places for every team
#include "check.h"
enum { MOST = 64 };
int main(void)
{
    int places = omp_get_num_places(), home = omp_get_place_num(), size[MOST], place[MOST];
    for (int teams = 1; teams <= places && teams <= MOST; teams++) {
        int sum = 0;
#pragma omp teams num_teams(teams) shared(size, place)
        {
            size[omp_get_team_num()] = omp_get_partition_num_places();
            place[omp_get_team_num()] = omp_get_place_num();
        }
        for (int i = 0; i < teams; i++) {
            CHECK(size[i] == places / teams || size[i] == (places + teams - 1) / teams);
            sum += size[i];
            for (int j = 0; j < i; j++)
                CHECK(place[i] != place[j]);
        }
        CHECK_EQ(sum, places);
        CHECK_EQ(omp_get_place_num(), home);
    }
    return check_result();
}
