// what: with GANGWAY_TLS=shared the threads of one worker see the same variables; regions, barriers and tasks are right all the same
// env: GANGWAY_TLS=shared GANGWAY_WORKERS=1 OMP_DISPLAY_ENV=verbose
// threads: 6
// mode: link
// expect-stderr: thread-local storage: threads on one worker share the worker's: GANGWAY_TLS says so
// ours: the variable is of this library alone
#include "identity.h"
#include "ompx.h"
static __thread int local;
int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
    const void *address[64], *errnos[64];
    ompx_counters_t counters;
    omp_set_max_active_levels(2);
    for (int round = 0; round < 10; round++) {
#pragma omp parallel
        {
            address[omp_get_thread_num()] = &local;
            errnos[omp_get_thread_num()] = errno_now();
#pragma omp barrier
#pragma omp parallel num_threads(2)
#pragma omp task shared(sum)
#pragma omp atomic
            sum++;
        }
    }
    for (int i = 1; i < n; i++)
        CHECK(address[i] == address[0] && errnos[i] == errnos[0]);
    CHECK_EQ(sum, 10 * 2 * n);
    ompx_get_counters(&counters, sizeof counters);
    CHECK_EQ(counters.donors, 0);
    return check_result();
}
