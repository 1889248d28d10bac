// what: regions, loops and tasks in a shared object loaded with RTLD_LOCAL, from four Python threads
#include "check.h"
int check(void)
{
    int n = omp_get_max_threads();
    long sum = 0, tasks = 0;
    for (int round = 0; round < 20; round++) {
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 10)
        for (int i = 0; i < 1000; i++)
            sum += i;
#pragma omp parallel
#pragma omp single
        for (int i = 0; i < 50; i++) {
#pragma omp task shared(tasks)
            {
#pragma omp atomic
                tasks++;
            }
        }
    }
    CHECK_EQ(sum, 9990000);
    CHECK_EQ(tasks, 1000);
    CHECK(n >= 1);
    return check_result();
}
