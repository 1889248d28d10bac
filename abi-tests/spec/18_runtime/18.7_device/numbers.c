// what: device numbers @WHERE@: no device but the host, default-device-var @CASE@
// languages: c, c++
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(2)") / in a task ; _Pragma("omp task if(0)") / in a target region ; _Pragma("omp target") / in a league ; _Pragma("omp teams num_teams(1)")
// each: CASE ; STEP ; WANT = as it is ; (void)0 ; 0 / set to the host ; omp_set_default_device(omp_get_initial_device()) ; omp_get_initial_device() / set to another ; omp_set_default_device(3) ; 3
// skip: clang<19 borrows a newer omp.h
#include "check.h"
static void look(int in_target)
{
    CHECK_EQ(!!omp_is_initial_device(), 1);
    CHECK(omp_get_num_procs() >= 1);
    CHECK_EQ(omp_get_num_devices(), 0);
    CHECK_EQ(omp_get_initial_device(), omp_get_num_devices());
    CHECK_EQ(omp_get_device_num(), omp_get_initial_device());
    if (!in_target)
        CHECK_EQ(omp_get_default_device(), @WANT@);
}
int main(void)
{
    @STEP@;
    int in_target = strstr("@WHERE@", "target") != NULL;
    if (in_target)
        omp_set_default_device(omp_get_initial_device());
    @OPEN@
    look(in_target);
    return check_result();
}
