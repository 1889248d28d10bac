/* Fibonacci numbers by the definition: a task for each of the two numbers before, which makes two tasks in
 * turn, and so on. Nobody would compute them so, but every tree of tasks is like this one.
 *
 * Built by gcc a task makes its tasks on the rank where it runs, for any rank. clang has no code for ranks in
 * the code for
 * ranks: there the tasks that main makes go to ranks, and theirs run where they are.
 *
 *     fib [n] */
#include "example.h"

enum { CUT_OFF = 12 }; /* from here on a task costs more than it computes */

static long fib(int n)
{
    long a, b;
    if (n < 2)
        return n;
    if (n <= CUT_OFF)
        return fib(n - 1) + fib(n - 2);
#pragma omp target nowait device(any_rank()) map(from : a)
    a = fib(n - 1);
#pragma omp target nowait device(any_rank()) map(from : b)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char **argv)
{
    int n = (int)argument(argc, argv, 1, 20);
    long answer = 0, before = 1, want = 0;
    if (has_nothing_to_begin())
        return 0;
    double begin = omp_get_wtime();
#pragma omp parallel
#pragma omp single
    answer = fib(n);
    double seconds = omp_get_wtime() - begin;

    for (int i = 0; i < n; i++) { /* the quick way */
        long sum = before + want;
        before = want;
        want = sum;
    }
    printf("fib: number %d is %ld, %s\n", n, answer, answer == want ? "right" : "WRONG");
    printf("  %.3f s\n", seconds);
    return answer != want;
}
