// what: omp_capture_affinity of @FORMAT@, @WHERE@
// languages: c, c++
// each: FORMAT ; WANT ; VALUE = %n ; %d ; id / [%4n] ; [%-4d] ; id / [%.4n] ; [%4d] ; id / [%04n] ; [%-4d] ; id / [%0.4n] ; [%04d] ; id / %N ; %d ; omp_get_num_threads() / %L ; %d ; omp_get_level() / %t ; %d ; omp_get_team_num() / %T ; %d ; omp_get_num_teams() / %a ; %d ; omp_get_ancestor_thread_num(omp_get_level() - 1) / %P ; %d ; (int)getpid() / %{thread_num} ; %d ; id / %{num_threads} ; %d ; omp_get_num_threads() / %{nesting_level}! ; %d! ; omp_get_level() / %{ancestor_tnum} ; %d ; omp_get_ancestor_thread_num(omp_get_level() - 1) / %%%n%% ; %%%d%% ; id / plain ; plain%.0d ; 0
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(3)") / in a nested region ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)")
// peers: libomp fails, because it pads with blanks what the standard says has zeros, or counts ancestors otherwise
// peers: libgomp fails, because it pads otherwise
#include "check.h"
#include <unistd.h>
int main(void)
{
    omp_set_max_active_levels(2);
    @OPEN@
    {
        char text[200], want[200], small[4];
        int id = omp_get_thread_num();
        (void)id;
        snprintf(want, sizeof want, "@WANT@", @VALUE@);
        size_t length = omp_capture_affinity(text, sizeof text, "@FORMAT@");
        CHECK_EQ(length, strlen(want));
        CHECK_EQ(strcmp(text, want), 0);
        CHECK_EQ(omp_capture_affinity(NULL, 0, "@FORMAT@"), strlen(want));
        CHECK_EQ(omp_capture_affinity(small, sizeof small, "@FORMAT@"), strlen(want));
        CHECK_EQ(strncmp(small, want, sizeof small - 1), 0);
        CHECK(strlen(small) < sizeof small);
    }
    omp_set_affinity_format("@FORMAT@");
    char kept[200];
    CHECK_EQ(omp_get_affinity_format(kept, sizeof kept), strlen("@FORMAT@"));
    CHECK_EQ(strcmp(kept, "@FORMAT@"), 0);
    return check_result();
}
