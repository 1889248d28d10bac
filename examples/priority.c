/* A chain of tasks on which the end of the program depends, among many others, made last. With `priority` on
   the chain a runtime that heeds it begins each link as soon as it is ready. Prints how many of the others
   had ended when the chain had.

   The standard's default is that priorities do nothing until OMP_MAX_TASK_PRIORITY is set; Gangway heeds
   them. */
#include <omp.h>
#include <stdio.h>

enum { OTHERS = 400, LINKS = 20 };

static double work(double x)
{
    for (int i = 0; i < 20000; i++)
        x = x * 0.999999 + 1e-6;
    return x;
}

int main(void)
{
    static double value[OTHERS];
    double chain = 1;
    int ended = 0, at_end = -1, links = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < OTHERS; i++) {
#pragma omp task firstprivate(i) shared(value, ended)
            {
                value[i] = work(i);
#pragma omp atomic
                ended++;
            }
        }
        for (int i = 0; i < LINKS; i++) {
#pragma omp task depend(inout : chain) priority(10) shared(chain, ended, at_end, links) firstprivate(i)
            {
                chain = work(chain);
                links++;
                if (i == LINKS - 1) {
#pragma omp atomic read
                    at_end = ended;
                }
            }
        }
    }
    printf("the chain of %d had ended when %d of %d others had\n", links, at_end, OTHERS);
    return links != LINKS || ended != OTHERS;
}
