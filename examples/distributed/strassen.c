/* C = A * B by Strassen's algorithm, one level: seven products of quarters instead of eight. 21 tasks, of
 * which none says where it runs: `depend` says which block it reads and which it makes, and the runtime finds
 * the order and the ranks.
 *
 *     strassen [size]
 *
 * The same graph is planned ahead by OMPX_GRAPH and OMPX_SCHED=heftmc: docs/placement.md. */
#include "example.h"
#include <string.h>

static long n, cells; /* size of a quarter, and its number of elements */

/* Task: to = x + sign * y */
static void add(float *to, const float *x, float sign, const float *y)
{
    long all = cells;
#pragma omp target nowait device(any_rank()) depend(in : x[0], y[0]) depend(out : to[0]) \
    map(to : x[0 : all], y[0 : all]) map(from : to[0 : all])
    for (long i = 0; i < all; i++)
        to[i] = x[i] + sign * y[i];
}

/* Task: to = x * y */
static void multiply(float *to, const float *x, const float *y)
{
    long all = cells, size = n;
#pragma omp target nowait device(any_rank()) depend(in : x[0], y[0]) depend(out : to[0]) \
    map(to : x[0 : all], y[0 : all]) map(from : to[0 : all])
    {
        memset(to, 0, all * sizeof *to);
        for (long i = 0; i < size; i++)
            for (long k = 0; k < size; k++)
                for (long j = 0; j < size; j++)
                    to[i * size + j] += x[i * size + k] * y[k * size + j];
    }
}

/* Task: to = w + x + sign * y + z */
static void combine(float *to, const float *w, const float *x, float sign, const float *y, const float *z)
{
    long all = cells;
#pragma omp target nowait device(any_rank()) depend(in : w[0], x[0], y[0], z[0]) depend(out : to[0]) \
    map(to : w[0 : all], x[0 : all], y[0 : all], z[0 : all]) map(from : to[0 : all])
    for (long i = 0; i < all; i++)
        to[i] = w[i] + x[i] + sign * y[i] + z[i];
}

/* Matrices are four quarters, one after the other: 11, 12, 21, 22. This is row `i` of the matrix times `v`.
 */
static double row_times(const float *matrix, long i, const double *v)
{
    const float *left = matrix + i / n * 2 * cells + i % n * n, *right = left + cells;
    double sum = 0;
    for (long j = 0; j < n; j++)
        sum += left[j] * v[j] + right[j] * v[n + j];
    return sum;
}

/* Is C * v = A * (B * v), for a v of small whole numbers? Nothing is rounded. */
static int is_product(const float *c, const float *a, const float *b)
{
    double *v = memory(2 * n * sizeof *v), *bv = memory(2 * n * sizeof *bv);
    int right = 1;
    for (long i = 0; i < 2 * n; i++)
        v[i] = (double)(i % 7 - 3);
    for (long i = 0; i < 2 * n; i++)
        bv[i] = row_times(b, i, v);
    for (long i = 0; i < 2 * n; i++)
        right &= row_times(c, i, v) == row_times(a, i, bv);
    free(v);
    free(bv);
    return right;
}

int main(int argc, char **argv)
{
    n = argument(argc, argv, 1, 256) / 2;
    cells = n * n;
    if (has_nothing_to_begin())
        return 0;
    float *a = memory(4 * cells * sizeof *a), *b = memory(4 * cells * sizeof *b),
          *c = memory(4 * cells * sizeof *c);
    float *between = memory(17 * cells * sizeof *between), *s[10], *p[7];
    for (long i = 0; i < 4 * cells; i++) {
        a[i] = (float)(i % 5);
        b[i] = (float)(i % 3);
    }
    for (int i = 0; i < 17; i++)
        *(i < 10 ? &s[i] : &p[i - 10]) = between + i * cells;
    const float *a11 = a, *a12 = a + cells, *a21 = a + 2 * cells, *a22 = a + 3 * cells;
    const float *b11 = b, *b12 = b + cells, *b21 = b + 2 * cells, *b22 = b + 3 * cells;
    double begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    {
        add(s[0], a11, 1, a22);
        add(s[1], b11, 1, b22);
        add(s[2], a21, 1, a22);
        add(s[3], b12, -1, b22);
        add(s[4], b21, -1, b11);
        add(s[5], a11, 1, a12);
        add(s[6], a21, -1, a11);
        add(s[7], b11, 1, b12);
        add(s[8], a12, -1, a22);
        add(s[9], b21, 1, b22);

        multiply(p[0], s[0], s[1]);
        multiply(p[1], s[2], b11);
        multiply(p[2], a11, s[3]);
        multiply(p[3], a22, s[4]);
        multiply(p[4], s[5], b22);
        multiply(p[5], s[6], s[7]);
        multiply(p[6], s[8], s[9]);

        combine(c, p[0], p[3], -1, p[4], p[6]);
        add(c + cells, p[2], 1, p[4]);
        add(c + 2 * cells, p[1], 1, p[3]);
        combine(c + 3 * cells, p[0], p[2], -1, p[1], p[5]);
    }
    double seconds = omp_get_wtime() - begin, sum = 0;

    for (long i = 0; i < 4 * cells; i++)
        sum += c[i];
    int right = is_product(c, a, b);
    printf("strassen: size %ld, sum %.0f, %s\n", 2 * n, sum, right ? "right" : "WRONG");
    printf("  %.3f s\n", seconds);
    free(a);
    free(b);
    free(c);
    free(between);
    return !right;
}
