// waits: TagHit, Figure 5.1, four generations: each generation in a taskgroup for the next, while a task in the queue between them waits in read(2) for the oldest
// free: from 2
#include "lab.h"
#include <unistd.h>

static long generation(int left)
{
    long below = 0;
    if (left == 0)
        return 1;
#pragma omp taskgroup
    {
#pragma omp task shared(below)
        below = generation(left - 1);
    }
    return 3 * below;
}
int main(void)
{
    int ends[2];
    long sum = 0;
    if (pipe(ends))
        return 2;
#pragma omp parallel shared(sum)
#pragma omp single
    {
#pragma omp task
        {
            long oldest = generation(4);
            if (write(ends[1], &oldest, sizeof oldest) != sizeof oldest)
                _exit(2);
        }
#pragma omp task shared(sum)
        {
            long got = 0;
            if (read(ends[0], &got, sizeof got) == sizeof got)
                sum = got;
        }
    }
    return answer(sum, 81);
}
