// what: an interop object that is none: @CALL@
// languages: c, c++
// each: CALL ; CHECKED = properties ; omp_get_num_interop_properties(none) >= 0 / int ; omp_get_interop_int(none, omp_ipr_fr_id, &code) == 0 && code != omp_irc_success / ptr ; omp_get_interop_ptr(none, omp_ipr_device, &code) == NULL && code != omp_irc_success / str ; omp_get_interop_str(none, omp_ipr_fr_name, &code) == NULL && code != omp_irc_success / name ; omp_get_interop_name(none, omp_ipr_fr_id) == NULL || *omp_get_interop_name(none, omp_ipr_fr_id) / type ; omp_get_interop_type_desc(none, omp_ipr_fr_id) == NULL || *omp_get_interop_type_desc(none, omp_ipr_fr_id) / code ; omp_get_interop_rc_desc(none, omp_irc_success) != NULL && *omp_get_interop_rc_desc(none, omp_irc_success)
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(2)")
// peers: libomp fails, because the answers are in libomptarget, which is not linked
// compilers: clang>=19
#include "check.h"
int main(void)
{
    @OPEN@
    {
        omp_interop_t none = omp_interop_none;
        int code = omp_irc_success;
        (void)code, (void)none;
        CHECK(@CHECKED@);
    }
    return check_result();
}
