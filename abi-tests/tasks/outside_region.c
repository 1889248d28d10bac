// what: tasks, taskgroup, taskloop, dependences and single outside any region
#include "check.h"
int main(void)
{
    int a = 0, b = 0;
    long sum = 0;
#pragma omp task shared(a)
    a = 1;
#pragma omp taskwait
    CHECK_EQ(a, 1);
#pragma omp task depend(out : a) shared(a)
    a = 2;
#pragma omp task depend(in : a) shared(a, b)
    b = a + 1;
#pragma omp taskwait
    CHECK_EQ(b, 3);
#pragma omp taskgroup
    {
#pragma omp taskloop reduction(+ : sum)
        for (int i = 0; i < 100; i++)
            sum += i;
    }
    CHECK_EQ(sum, 4950);
#pragma omp single
    a = 9;
    CHECK_EQ(a, 9);
#pragma omp barrier
#pragma omp for schedule(dynamic)
    for (int i = 0; i < 10; i++)
        b += i;
    CHECK_EQ(b, 48);
#pragma omp sections
    {
        b++;
#pragma omp section
        b++;
    }
    CHECK_EQ(b, 50);
    return check_result();
}
