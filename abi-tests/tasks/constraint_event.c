// what: a thread that waits in a tied task for an event, with nothing of that task's to run, starts no other tied task
// threads: 2,4,8
// skip: clang<19 needs a later omp.h
#include "check.h"
#include <pthread.h>
#include <unistd.h>
enum { TASKS = 12 };
static omp_event_handle_t events[TASKS];
static int posted[TASKS], ended, begun_on[64];
/* Fulfils each event some time after its task has begun to wait. */
static void *fulfil(void *unused)
{
    while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
        int seen[TASKS];
        for (int i = 0; i < TASKS; i++)
            seen[i] = __atomic_load_n(&posted[i], __ATOMIC_ACQUIRE) == 1;
        usleep(2000);
        for (int i = 0; i < TASKS; i++) {
            if (seen[i]) {
                __atomic_store_n(&posted[i], 2, __ATOMIC_RELEASE);
                omp_fulfill_event(events[i]);
            }
        }
    }
    return unused;
}
int main(void)
{
    pthread_t helper;
    pthread_create(&helper, NULL, fulfil, NULL);
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
        {
            int id = omp_get_thread_num();
            CHECK_EQ(begun_on[id]++, 0);
            omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(i)
            {
                events[i] = event;
                __atomic_store_n(&posted[i], 1, __ATOMIC_RELEASE);
            }
#pragma omp taskwait
            CHECK_EQ(omp_get_thread_num(), id);
            CHECK_EQ(begun_on[id]--, 1);
        }
    }
    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
    pthread_join(helper, NULL);
    return check_result();
}
