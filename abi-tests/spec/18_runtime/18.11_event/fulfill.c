// what: omp_fulfill_event by @WHO@: the task completes then, and @JOIN@ waits until it has
// languages: c, c++
// each: WHO ; START ; LATER ; PEER = the task ; (void)0 ; fulfil(event) ; none / its generator ; fulfil(event) ; (void)0 ; libgomp / a thread of the program ; go(event) ; (void)0 ; none
// each: JOIN ; OPEN ; CLOSE = taskwait ; (void)0; ; _Pragma("omp taskwait") / taskgroup ; _Pragma("omp taskgroup") ; (void)0; / a task that depends on it ; (void)0; ; _Pragma("omp taskwait depend(in : done)") / the end of a region ; _Pragma("omp parallel num_threads(2)") _Pragma("omp single") ; (void)0;
// flags: clang>=19 -fopenmp-version=51
// skip: clang<19 it comes with later compilers
// peers: @PEER@ fails, because a task outside regions waits for its event before its generator goes on
// timeout: 20
#include "check.h"
#include <pthread.h>
#include <unistd.h>
static int fulfilled, done;
static omp_event_handle_t handed;
static void fulfil(omp_event_handle_t event)
{
    __atomic_store_n(&fulfilled, 1, __ATOMIC_SEQ_CST);
    omp_fulfill_event(event);
}
static inline void *from_thread(void *event)
{
    usleep(3000);
    fulfil(*(omp_event_handle_t *)event);
    return NULL;
}
static inline void go(omp_event_handle_t event)
{
    pthread_t helper;
    handed = event;
    CHECK_EQ(pthread_create(&helper, NULL, from_thread, &handed), 0);
    pthread_detach(helper);
}
int main(void)
{
    for (int round = 1; round <= 5; round++) {
        done = fulfilled = 0;
        @OPEN@
        {
            omp_event_handle_t event;
#pragma omp task detach(event) depend(out : done)
            {
                __atomic_store_n(&done, round, __ATOMIC_SEQ_CST);
                @LATER@;
            }
            @START@;
            @CLOSE@
        }
        CHECK_EQ(fulfilled, 1);
        CHECK_EQ(done, round);
    }
    return check_result();
}
