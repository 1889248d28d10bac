// what: a detached task is complete when its event is fulfilled by @WHO@, and not before; @AFTER@
// languages: c, c++
// each: WHO ; INSIDE ; OUTSIDE = itself ; omp_fulfill_event(event) ; (void)0 / another task ; handle = event ; fulfil_by_task(&handle, &done) / the thread that waits ; handle = event ; fulfil_here(&handle, &done)
// each: AFTER ; CLAUSE = alone ; / before a dependent task ; depend(out : x)
// skip: clang<19 the header it borrows is a later one
#include "check.h"
static void fulfil_here(omp_event_handle_t *handle, int *done)
{
    while (__atomic_load_n((unsigned long *)handle, __ATOMIC_ACQUIRE) == 0) {
#pragma omp taskyield
    }
    __atomic_store_n(done, 1, __ATOMIC_RELEASE);
    omp_fulfill_event(*handle);
}
static void fulfil_by_task(omp_event_handle_t *handle, int *done)
{
#pragma omp task firstprivate(handle, done)
    fulfil_here(handle, done);
}
int main(void)
{
    omp_event_handle_t handle = (omp_event_handle_t)0;
    int done = 0, x = 0, later = 0, direct = *"@WHO@" == 'i';
    (void)fulfil_here, (void)fulfil_by_task;
#pragma omp parallel num_threads(3)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) @CLAUSE@ shared(x, handle)
        {
            x = 5;
            __atomic_thread_fence(__ATOMIC_RELEASE);
            @INSIDE@;
        }
#pragma omp task depend(in : x) shared(later, done)
        later = 1 + __atomic_load_n(&done, __ATOMIC_ACQUIRE);
        @OUTSIDE@;
#pragma omp taskwait
        CHECK_EQ(x, 5);
        CHECK_EQ(later >= 1, 1);
        if (sizeof("@CLAUSE@") > 1)
            CHECK_EQ(later, direct ? 1 : 2);
    }
    return check_result();
}
