// waits: threads in read(2) of one eventfd for tokens that the others put back; there are half as many tokens as threads
// free: from 1
#include "lab.h"
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

int main(void)
{
    int n = omp_get_max_threads(), tokens = (n + 1) / 2, inside = 0, done = 0, many = 0;
    int fd = eventfd((unsigned)tokens, EFD_SEMAPHORE);
#pragma omp parallel shared(inside, done, many)
    for (int round = 0; round < 10; round++) {
        eventfd_t token;
        if (eventfd_read(fd, &token))
            _exit(2);
        ADD(many, ADD(inside, 1) > tokens);
        sched_yield();
        ADD(inside, -1);
        ADD(done, 1);
        if (eventfd_write(fd, 1))
            _exit(2);
    }
    return answer(done + 1000 * many, 10 * n);
}
