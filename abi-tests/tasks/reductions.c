// what: task_reduction with in_reduction, reduction(task, ...) on parallel and for, taskloop reduction
#include "check.h"
int main(void)
{
    int n = omp_get_max_threads();
    long sum = 1000, product = 1, highest = 0, loop = 0, array[4] = {1, 2, 3, 4};
    double d = 0;
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskgroup task_reduction(+ : sum, d, array) task_reduction(max : highest)
        {
            for (int i = 1; i <= 200; i++) {
#pragma omp task in_reduction(+ : sum, d, array) in_reduction(max : highest) firstprivate(i)
                {
                    sum += i;
                    d += i * 0.5;
                    array[i % 4] += i;
                    if (i > highest)
                        highest = i;
                }
            }
        }
        CHECK_EQ(sum, 21100);
        CHECK(d == 10050);
        CHECK_EQ(array[0], 1 + 5100);
        CHECK_EQ(array[3], 4 + 5050);
        CHECK_EQ(highest, 200);
#pragma omp taskloop reduction(+ : loop) grainsize(10)
        for (int i = 0; i < 1000; i++)
            loop += i;
        CHECK_EQ(loop, 499500);
#pragma omp taskgroup task_reduction(* : product)
        {
#pragma omp taskloop in_reduction(* : product) num_tasks(5)
            for (int i = 1; i <= 12; i++)
                product *= i;
        }
        CHECK_EQ(product, 479001600);
    }
    long modifier = 5;
#pragma omp parallel reduction(task, + : modifier)
    {
#pragma omp task in_reduction(+ : modifier)
        modifier += 10;
        modifier += 1;
    }
    CHECK_EQ(modifier, 5 + 11L * n);
    modifier = 0;
#pragma omp parallel
    {
#pragma omp for reduction(task, + : modifier) schedule(static)
        for (int i = 0; i < 100; i++) {
#pragma omp task in_reduction(+ : modifier) firstprivate(i)
            modifier += i;
        }
    }
    CHECK_EQ(modifier, 4950);
    return check_result();
}
