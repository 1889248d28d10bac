/* Pi as the area below 4 / (1 + x * x) between 0 and 1, in 64 tasks. Each task adds up a strip of its own, on
 * whichever rank has least to do.
 *
 *     pi [steps] */
#include "example.h"

enum { TASKS = 64 };

int main(int argc, char **argv)
{
    long steps = argument(argc, argv, 1, 1000000) / TASKS; /* of a task */
    double width = 1.0 / ((double)steps * TASKS), part[TASKS], pi = 0;
    int on[TASKS];
    if (has_nothing_to_begin())
        return 0;
    double begin = omp_get_wtime();

    /* One thread makes the tasks. With `nowait` it goes on to the next one, and all ranks work at the same
     * time. What a task maps is all that goes to its rank and back: here one number and one more, back. */
#pragma omp parallel
#pragma omp single
    for (int t = 0; t < TASKS; t++) {
#pragma omp target nowait device(any_rank()) map(from : part[t : 1], on[t : 1])
        {
            double sum = 0;
            for (long i = t * steps; i < (t + 1) * steps; i++) {
                double x = (i + 0.5) * width;
                sum += 4 / (1 + x * x);
            }
            part[t] = sum * width;
            on[t] = rank_here();
        }
    } /* The region ends when all tasks have. */

    for (int t = 0; t < TASKS; t++) /* always in this order, so that the answer is always the same */
        pi += part[t];
    int right = pi > 3.1415926525 && pi < 3.1415926545;
    printf("pi: %.9f by %d tasks, %s\n", pi, TASKS, right ? "right" : "WRONG");
    print_tasks_per_rank(on, TASKS, omp_get_wtime() - begin);
    return !right;
}
