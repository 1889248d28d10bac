// what: what the routines about teams, levels and tasks say here: @WHERE@
// languages: c, c++
// each: WHERE ; OPEN ; LEVEL ; ACTIVE ; SIZE ; FINAL ; EXPLICIT = sequential ;  ; 0 ; 0 ; 1 ; 0 ; 0 / region ; _Pragma("omp parallel num_threads(3)") ; 1 ; 1 ; 3 ; 0 ; 0 / region of one ; _Pragma("omp parallel num_threads(1)") ; 1 ; 0 ; 1 ; 0 ; 0 / region if 0 ; _Pragma("omp parallel if(0) num_threads(4)") ; 1 ; 0 ; 1 ; 0 ; 0 / nested ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") ; 2 ; 2 ; 2 ; 0 ; 0 / three levels ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") ; 3 ; 3 ; 2 ; 0 ; 0 / one in many ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(1)") ; 2 ; 1 ; 1 ; 0 ; 0 / many in one ; _Pragma("omp parallel num_threads(1)") _Pragma("omp parallel num_threads(3)") ; 2 ; 1 ; 3 ; 0 ; 0 / task ; _Pragma("omp parallel num_threads(3)") _Pragma("omp task") ; 1 ; 1 ; 3 ; 0 ; 1 / task outside ; _Pragma("omp task if(0)") ; 0 ; 0 ; 1 ; 0 ; 1 / final task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task final(1)") ; 1 ; 1 ; 2 ; 1 ; 1 / task of a final one ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task final(1)") _Pragma("omp task") ; 1 ; 1 ; 2 ; 1 ; 1 / region in a task ; _Pragma("omp parallel num_threads(2)") _Pragma("omp task") _Pragma("omp parallel num_threads(2)") ; 2 ; 2 ; 2 ; 0 ; 0 / task in nested ; _Pragma("omp parallel num_threads(2)") _Pragma("omp parallel num_threads(2)") _Pragma("omp task untied") ; 2 ; 2 ; 2 ; 0 ; 1
// each: BEFORE ; STEP = new ; (void)0 / again ; omp_set_num_threads(5)
#include "check.h"
int main(void)
{
    omp_set_dynamic(0);
    omp_set_max_active_levels(4);
    for (int round = 0; round < 2; round++) {
        @STEP@;
        @OPEN@
        {
            CHECK_EQ(omp_get_level(), @LEVEL@);
            CHECK_EQ(omp_get_active_level(), @ACTIVE@);
            CHECK_EQ(omp_get_num_threads(), @SIZE@);
            CHECK_EQ(!!omp_in_parallel(), @ACTIVE@ > 0);
            CHECK_EQ(!!omp_in_final(), @FINAL@);
            CHECK(omp_get_thread_num() >= 0 && omp_get_thread_num() < @SIZE@);
            CHECK_EQ(omp_get_ancestor_thread_num(@LEVEL@), omp_get_thread_num());
            CHECK_EQ(omp_get_team_size(@LEVEL@), @SIZE@);
            CHECK_EQ(omp_get_ancestor_thread_num(0), 0);
            CHECK_EQ(omp_get_team_size(0), 1);
            CHECK_EQ(omp_get_ancestor_thread_num(@LEVEL@ + 1), -1);
            CHECK_EQ(omp_get_team_size(@LEVEL@ + 1), -1);
            CHECK_EQ(omp_get_team_size(-1), -1);
        }
    }
    CHECK_EQ(omp_get_level(), 0);
    CHECK_EQ(omp_get_num_threads(), 1);
    return check_result();
}
