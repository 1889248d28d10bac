// what: kmp_set_defaults counts as the environment before the first routine, and changes target-offload-var at any time
// compilers: clang>=19
// threads: 2
#include "check.h"
int __kmpc_get_target_offload(void);
int main(void)
{
    kmp_set_defaults("OMP_NUM_THREADS=5|OMP_TARGET_OFFLOAD=disabled");
    CHECK_EQ(omp_get_max_threads(), 5);
    CHECK_EQ(__kmpc_get_target_offload(), 0);
    kmp_set_defaults("OMP_TARGET_OFFLOAD=mandatory");
    CHECK_EQ(__kmpc_get_target_offload(), 2);
    kmp_set_defaults("OMP_TARGET_OFFLOAD=Default");
    CHECK_EQ(__kmpc_get_target_offload(), 1);
    return check_result();
}
