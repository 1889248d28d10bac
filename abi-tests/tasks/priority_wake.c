// what: sleeping threads see a task with a priority that is made deep in a graph, also behind one that may not start it
// compilers: gcc>=11,clang
// threads: 2,3,4,8
// env: OMP_MAX_TASK_PRIORITY=9
#include "priority.h"

static void deep(int depth, int *seen)
{
    if (depth > 0) {
#pragma omp task firstprivate(depth, seen)
        deep(depth - 1, seen);
#pragma omp taskwait
        return;
    }
    usleep(20000); /* the other threads have gone to sleep */
#pragma omp task priority(3) firstprivate(seen)
    set(seen, 1);
    CHECK(await(seen, 1)); /* without a task scheduling point: another thread has to run it */
}

/* Waits in a tied task of this thread for a task of priority 3, which is ready when `*event` is fulfilled. */
static void wait_for_event(omp_event_handle_t *event, int *known, int *seen)
{
#pragma omp task if (0)
    {
        char order = 0;
        (void)order; /* gcc does not count depend as a use */
        omp_event_handle_t own;
#pragma omp task depend(out : order) detach(own) firstprivate(event, known)
        {
            *event = own;
            set(known, 1);
        }
#pragma omp task depend(in : order) priority(3) firstprivate(seen)
        set(seen, 1);
#pragma omp taskwait
    }
}

/* Threads 0 and 1 sleep, each in a task of its own; thread 2 makes a task ready that thread `first` alone may
 * start. */
static void behind_another(int first)
{
    omp_event_handle_t events[2];
    int known[2] = {0, 0}, seen[2] = {0, 0};
#pragma omp parallel num_threads(3) shared(events, known, seen)
    {
        int me = omp_get_thread_num();
        if (me < 2) {
            wait_for_event(&events[me], &known[me], &seen[me]);
        } else {
            CHECK(await(&known[0], 1) && await(&known[1], 1));
            for (int i = 0; i < 2; i++) {
                int which = i == 0 ? first : 1 - first;
                usleep(20000);
                omp_fulfill_event(events[which]);
                CHECK(await(&seen[which], 1));
            }
        }
    }
}

int main(void)
{
    int seen = 0;
#pragma omp parallel shared(seen)
#pragma omp single
    deep(40, &seen);
    behind_another(0);
    behind_another(1);
    return check_result();
}
