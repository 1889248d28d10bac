// waits: a task by its dependence for a detached one, whose event a pthread fulfills when a third task, independent of both, has written to a pipe
// free: from 1
#include "lab.h"
#include <pthread.h>
#include <unistd.h>

static omp_event_handle_t handle;
static int ends[2], word, x;
static void *fulfill(void *unused)
{
    long got = 0;
    for (int i = 0; i < 2; i++) {
        long one = 0;
        if (read(ends[0], &one, sizeof one) != sizeof one)
            _exit(2);
        got += one;
    }
    word = (int)got;
    omp_fulfill_event(handle);
    return unused;
}
static void tell(long value)
{
    if (write(ends[1], &value, sizeof value) != sizeof value)
        _exit(2);
}
int main(void)
{
    int seen = 0;
    pthread_t other;
    if (pipe(ends))
        return 2;
    pthread_create(&other, NULL, fulfill, NULL);
#pragma omp parallel shared(seen)
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : x)
        {
            handle = event;
            tell(1);
        }
#pragma omp task depend(in : x) shared(seen)
        seen = word;
#pragma omp task
        tell(10);
    }
    pthread_join(other, NULL);
    return answer(seen, 11);
}
