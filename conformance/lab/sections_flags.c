// waits: one section for another in the middle of it, and that one for the first at its end
// free: from 2
#include "lab.h"

int main(void)
{
    int a = 0, b = 0, c = 0, got = 0;
#pragma omp parallel sections shared(a, b, c, got)
    {
#pragma omp section
        {
            STORE(a, 1);
            SPIN_UNTIL(LOAD(b));
            STORE(c, LOAD(b) + 1);
        }
#pragma omp section
        {
            SPIN_UNTIL(LOAD(a));
            STORE(b, LOAD(a) + 1);
            SPIN_UNTIL(LOAD(c));
            got = LOAD(c);
        }
    }
    return answer(got, 3);
}
