// tool: valgrind
// memcheck sees our stacks: nested regions, and tasks that wait on stacks of their own, give no error; a
// decision by what nobody has written is reported where it is made, in a task and in a nested region.
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))

APART static int fibonacci(int n)
{
    int a, b, frame[20];
    if (n < 2)
        return n;
    for (int i = 0; i < 20; i++)
        frame[i] = n;
#pragma omp task shared(a)
    a = fibonacci(n - 1);
#pragma omp task shared(b)
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b + frame[n] - n;
}

static int clean(void)
{
    int result = 0, sum = 0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
#pragma omp single nowait
        result = fibonacci(10);
        for (int i = 0; i < 5; i++) {
#pragma omp parallel num_threads(2) reduction(+ : sum)
            {
                char *block = malloc(50);
                memset(block, 1, 50);
#pragma omp task firstprivate(block)
                free(block);
#pragma omp barrier
                sum++;
            }
        }
    }
    return result != 55 || sum != 40;
}

static volatile int found;
APART static void decides(void)
{
    int *block = malloc(4 * sizeof *block);
    if (block[2] == 77)
        found++;
    free(block);
}

static int in_task(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 4; i++) {
#pragma omp task firstprivate(i)
        {
#pragma omp task
            found += 0;
#pragma omp taskwait
            if (i == 2)
                decides();
        }
    }
    return 0;
}

static int nested(void)
{
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(2)
        if (outer == 1 && omp_get_thread_num() == 1)
            decides();
    }
    return 0;
}

int main(int count, char **arguments)
{
    omp_set_max_active_levels(3);
    const char *name = count > 1 ? arguments[1] : "";
    if (strcmp(name, "list") == 0)
        return puts("clean\t\nin_task\tuninitialised|: decides\nnested\tuninitialised|: decides") < 0;
    if (strcmp(name, "clean") == 0)
        return clean();
    if (strcmp(name, "in_task") == 0)
        return in_task();
    if (strcmp(name, "nested") == 0)
        return nested();
    return 2;
}
