// what: @RULE@
// languages: c, c++
// each: CASE ; RULE ; CHECKED = present ; memory of the host is present there ; omp_target_is_present(x, host) == 1 / elsewhere ; nothing is present on a device that is not there ; omp_target_is_present(x, host + 4) == 0 / accessible ; the host reaches its memory ; omp_target_is_accessible(x, sizeof x, host) != 0 / no device ; no device reaches it that is not there ; omp_target_is_accessible(x, sizeof x, host + 4) == 0 / mapped ; a pointer of the host is itself there ; omp_get_mapped_ptr(x, host) == (void *)x / nowhere ; there is none elsewhere ; omp_get_mapped_ptr(x, host + 4) == NULL
// each: CASE ; RULE ; CHECKED = associate ; a pointer cannot be associated with another on the host ; omp_target_associate_ptr(x, y, sizeof x, 0, host) != 0 / disassociate ; what was not associated cannot be undone ; omp_target_disassociate_ptr(x, host) != 0 / allocate ; a device that is not there has no memory ; omp_target_alloc(8, host + 4) == NULL / memory ; the host has memory ; (z = omp_target_alloc(100, host)) != NULL
// each: WHERE ; OPEN = outside ; (void)0; / in a region ; _Pragma("omp parallel num_threads(1)")
// mode: link
// ours: other runtimes have these routines in another library or not at all
#include "check.h"
#include "newer.h"
int main(void)
{
    int host = omp_get_initial_device(), x[4] = {1}, y[4] = {2};
    void *z = NULL;
    @OPEN@
    {
        CHECK(@CHECKED@);
        if (z)
            memset(z, 3, 100);
        omp_target_free(z, host);
    }
    return check_result() + (y[0] != 2);
}
