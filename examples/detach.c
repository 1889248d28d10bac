/* A task that ends when something outside of OpenMP says so: here a pthread that plays a disk. The thread
   that began the task is free meanwhile, and the task that depends on it begins when the event is fulfilled.
 */
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

struct request {
    omp_event_handle_t done;
    int data;
};

static void *disk(void *argument)
{
    struct request *request = argument;
    usleep(20000);
    request->data = 42;
    omp_fulfill_event(request->done);
    return NULL;
}

int main(void)
{
    struct request request = {0};
    int seen = 0, meanwhile = 0;
    pthread_t thread;
#pragma omp parallel
#pragma omp single
    {
        omp_event_handle_t event;
#pragma omp task detach(event) depend(out : request) shared(request, thread)
        {
            request.done = event;
            if (pthread_create(&thread, NULL, disk, &request))
                omp_fulfill_event(event);
        }
#pragma omp task depend(in : request) shared(request, seen)
        seen = request.data;
        for (int i = 0; i < 100; i++) {
#pragma omp task shared(meanwhile)
            {
#pragma omp atomic
                meanwhile++;
            }
        }
#pragma omp taskwait
    }
    pthread_join(thread, NULL);
    printf("read %d, with %d other tasks meanwhile\n", seen, meanwhile);
    return seen != 42 || meanwhile != 100;
}
