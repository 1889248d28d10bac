// waits: a chain of tasks by dependences, whose first spins for a flag of a task created behind the whole chain
// free: from 2
#include "lab.h"

int main(void)
{
    int flag = 0, x = 0;
#pragma omp parallel shared(flag, x)
#pragma omp single
    {
#pragma omp task depend(inout : x) shared(flag)
        {
            SPIN_UNTIL(LOAD(flag));
            x = LOAD(flag);
        }
        for (int i = 0; i < 5; i++)
#pragma omp task depend(inout : x)
            x = 2 * x + 1;
#pragma omp task shared(flag)
        STORE(flag, 3);
    }
    return answer(x, 127);
}
