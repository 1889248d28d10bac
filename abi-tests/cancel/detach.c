// what: a detachable task that is discarded completes, though the code that fulfils its event never runs
// env: OMP_CANCELLATION=true
#include "check.h"
int main(void)
{
    int ran = 0, ended = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 20; i++) {
        omp_event_handle_t event;
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp cancel taskgroup
            }
#pragma omp taskwait
#pragma omp task detach(event) shared(ran)
            {
                ran++;
                omp_fulfill_event(event);
            }
        }
        ended++;
    }
    CHECK_EQ(ran, 0);
    CHECK_EQ(ended, 20);
    return check_result();
}
