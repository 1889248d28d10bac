/* z = a * x + y for long vectors. The vectors are cut into blocks ("entities"), and the blocks of x and y
 * live on the ranks: more ranks have room for longer vectors.
 *
 * OMPX_DEVICE_MEMORY says how much of its memory a rank gives, and with OMP_TARGET_OFFLOAD=mandatory nothing
 * is to run elsewhere. So
 *
 *     OMP_TARGET_OFFLOAD=mandatory OMPX_DEVICE_MEMORY=4M
 *
 * ends the program with a line on 1 rank, and is enough on 4 (OMPX_CLUSTER=spmd): a task finds no room for
 * its block of z on a rank that is filled by x and y.
 *
 *     saxpy [elements] */
#include "example.h"

enum { BLOCKS = 16 };

int main(int argc, char **argv)
{
    long n = argument(argc, argv, 1, 1 << 20) / BLOCKS; /* of a block */
    float a = 2, *x, *y, *z;
    int on[BLOCKS];
    if (has_nothing_to_begin())
        return 0;
    x = memory(BLOCKS * n * sizeof *x);
    y = memory(BLOCKS * n * sizeof *y);
    z = memory(BLOCKS * n * sizeof *z);
    for (long i = 0; i < BLOCKS * n; i++) {
        x[i] = (float)(i % 1000);
        y[i] = (float)(i % 77);
    }
    double begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    {
        /* Scatter. */
        for (int b = 0; b < BLOCKS; b++) {
            float *xb = x + b * n, *yb = y + b * n;
#pragma omp target enter data nowait map(to : xb[0 : n], yb[0 : n]) device(home(b))
        }
#pragma omp taskwait

        /* Compute, preferably where x and y are: what is there already is not sent again. z is fetched when a
         * task ends. */
        for (int b = 0; b < BLOCKS; b++) {
            float *xb = x + b * n, *yb = y + b * n, *zb = z + b * n;
#pragma omp target nowait map(to : xb[0 : n], yb[0 : n]) map(from : zb[0 : n], on[b : 1]) device(any_rank())
            {
                for (long i = 0; i < n; i++)
                    zb[i] = a * xb[i] + yb[i];
                on[b] = rank_here();
            }
        }
#pragma omp taskwait

        /* The ranks forget their blocks. */
        for (int b = 0; b < BLOCKS; b++) {
            float *xb = x + b * n, *yb = y + b * n;
#pragma omp target exit data nowait map(delete : xb[0 : n], yb[0 : n]) device(home(b))
        }
    }
    double seconds = omp_get_wtime() - begin, sum = 0;

    int right = 1; /* all numbers are small and whole, so nothing is rounded */
    for (long i = 0; i < BLOCKS * n; i++) {
        right &= z[i] == (float)(2 * (i % 1000) + i % 77);
        sum += z[i];
    }
    printf("saxpy: %ld elements, sum %.0f, %s\n", BLOCKS * n, sum, right ? "right" : "WRONG");
    print_tasks_per_rank(on, BLOCKS, seconds);
    free(x);
    free(y);
    free(z);
    return !right;
}
