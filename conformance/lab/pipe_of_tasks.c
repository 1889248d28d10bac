// waits: tasks in read(2) for bytes that a task created after them writes
// free: from 1
#include "lab.h"
#include <unistd.h>

int main(void)
{
    int n = omp_get_max_threads(), ends[2], sum = 0;
    if (pipe(ends))
        return 2;
#pragma omp parallel shared(sum)
#pragma omp single
    {
        for (int i = 1; i < n; i++)
#pragma omp task shared(sum)
        {
            char byte = 0;
            if (read(ends[0], &byte, 1) == 1)
                ADD(sum, byte);
        }
#pragma omp task
        for (int i = 1; i < n; i++) {
            char byte = (char)i;
            if (write(ends[1], &byte, 1) != 1)
                _exit(2);
        }
    }
    return answer(sum, n * (n - 1) / 2);
}
