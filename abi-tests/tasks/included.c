// what: tasks that are run at once: what they leave behind is waited for where it should be, and a chain of them does not exhaust the stack
// threads: 1,2,4
// skip: clang<19 needs a later omp.h
#include "check.h"
#include <omp.h>
static int done, ended;
static void one(void)
{
#pragma omp atomic
    done++;
}
/* An undeferred task ends before its children; a taskwait of the generating task does not wait for them, the
 * taskgroup does. */
static void leaves_children(void)
{
#pragma omp taskgroup
    for (int i = 0; i < 200; i++) {
#pragma omp task if (0)
        {
            for (int j = 0; j < 5; j++) {
#pragma omp task
                {
#pragma omp task if (0)
                    one();
#pragma omp task
                    one();
                }
            }
#pragma omp atomic
            ended++;
        }
        int now;
#pragma omp atomic read
        now = ended;
        CHECK_EQ(now, i + 1);
    }
    CHECK_EQ(done, 2000);
}
static void link_of(int left)
{
    char used[256];
    used[left % 256] = 1;
    __asm__ volatile("" : : "r"(used) : "memory");
    one();
    if (left > 0) {
#pragma omp task firstprivate(left)
        link_of(left - 1);
    }
}
/* Enough tasks that the producer runs new ones itself, each of which makes the next. */
static void many_and_a_chain(int tasks, int links)
{
    done = 0;
    for (int i = 0; i < tasks; i++) {
#pragma omp task
        one();
    }
    for (int i = 0; i < 4; i++) {
#pragma omp task
        link_of(links);
    }
#pragma omp taskwait
}
/* Dependences hold between tasks that are run at once, those that wait for an event, and others. */
static void dependences(void)
{
    int value = 0, order = 0;
    omp_event_handle_t event;
#pragma omp task depend(out : value) detach(event)
    ;
#pragma omp task depend(inout : value) shared(value, order)
    {
        order += value == 2;
        value = 3;
    }
    value = 2; /* nobody else touches it before the event */
    omp_fulfill_event(event);
#pragma omp task depend(in : value) if (0) shared(value, order)
    order += value == 3;
#pragma omp taskwait
    CHECK_EQ(order, 2);
    int sum = 0;
    for (int i = 0; i < 2000; i++) {
#pragma omp task depend(inout : sum) shared(sum)
        sum += 1;
#pragma omp task depend(in : sum) shared(sum) firstprivate(i)
        CHECK_EQ(sum, i + 1);
    }
#pragma omp taskwait
    CHECK_EQ(sum, 2000);
}
int main(void)
{
    /* A team of one runs each task inside the one before: its stack bounds the chain there. */
    int links = omp_get_max_threads() > 1 ? 50000 : 1000;
#pragma omp parallel
#pragma omp single
    leaves_children();
#pragma omp parallel
#pragma omp single
    many_and_a_chain(1000, links);
    CHECK_EQ(done, 1000 + 4 * (links + 1));
#pragma omp parallel
#pragma omp single
    dependences();
    return check_result();
}
