// what: threadprivate variables of a team whose threads have a worker each persist when threads of inner gangs are queued behind one that sleeps
// env: OMP_GANG_SCHED=1 GANGWAY_WORKERS=3
// threads: 2,3
// compilers: gcc, clang>=19
// mode: preload
#include "identity.h"
#include <unistd.h>
static int number;
#pragma omp threadprivate(number)
static const void *numbers[64];
static void verify(int round)
{
    CHECK_EQ(number, 1000 * round + omp_get_thread_num());
    CHECK(numbers[omp_get_thread_num()] == &number);
}
static void sleeping(int round)
{
#pragma omp parallel
    {
        verify(round);
        if (omp_get_thread_num() != 0) {
            usleep(4000);
        } else {
            usleep(100);
#pragma omp parallel num_threads(4)
            {
#pragma omp barrier
                if (omp_get_thread_num() != 0)
                    number = -1;
#pragma omp barrier
            }
        }
        verify(round);
    }
}
int main(void)
{
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
#pragma omp parallel
    numbers[omp_get_thread_num()] = &number;
    for (int round = 1; round <= 20; round++) {
#pragma omp parallel
        number = 1000 * round + omp_get_thread_num();
        sleeping(round);
#pragma omp parallel
        verify(round);
        sleeping(round);
        sleeping(round);
    }
    return check_result();
}
