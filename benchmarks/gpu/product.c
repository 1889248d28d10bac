/* A product of matrices by blocks, c = a * b, on all GPUs; gemm.c has the same on one, against the driver's
 * own calls. After the first of Parla's programs. Elements are small whole numbers, so sums are exact, and c
 * times a vector is compared with a times b times it. */
#include "graphs.h"

static long blocks, size;
static double *a, *b, *c; /* block after block, each by rows */

static double *block(double *matrix, long row, long column)
{
    return matrix + (row * blocks + column) * size * size;
}

static double drawn(unsigned long number)
{
    return (double)(mixed(number) % 5) - 2;
}

static void product_prepare(int is_small)
{
    blocks = is_small ? 4 : 8, size = is_small ? 24 : 1024;
    long count = blocks * blocks * size * size;
    a = room_for((size_t)count, sizeof *a), b = room_for((size_t)count, sizeof *b),
    c = room_for((size_t)count, sizeof *c);
    for (long at = 0; at < count; at++)
        a[at] = drawn((unsigned long)at + 1), b[at] = drawn((unsigned long)at + 1000000007ul);
}

static void product_begin(void)
{
    memset(c, 0, (size_t)(blocks * blocks * size * size) * sizeof *c);
}

/* Two blocks, added to a third. */
static void multiply(long i, long j, long k)
{
    double *to = block(c, i, j), *left = block(a, i, k), *right = block(b, k, j);
    long n = size;
    int device = place_in_blocks(i, blocks);
#pragma omp target SPREAD nowait depend(in : left[0], right[0]) depend(inout : to[0]) \
    map(to : left[0 : n * n], right[0 : n * n]) map(tofrom : to[0 : n * n]) firstprivate(n) device(device)
    for (long at = 0; at < n * n; at++) {
        double sum = to[at];
        for (long t = 0; t < n; t++)
            sum += left[at / n * n + t] * right[t * n + at % n];
        to[at] = sum;
    }
}

static void product_run(void)
{
    for (long i = 0; i < blocks; i++)
        for (long j = 0; j < blocks; j++)
            for (long k = 0; k < blocks; k++)
                multiply(i, j, k);
}

/* A matrix times x: for row after row of each block. */
static double *times(double *matrix, const double *x)
{
    double *y = room_for((size_t)(blocks * size), sizeof *y);
    for (long i = 0; i < blocks; i++)
        for (long j = 0; j < blocks; j++)
            for (long at = 0; at < size * size; at++)
                y[i * size + at / size] += block(matrix, i, j)[at] * x[j * size + at % size];
    return y;
}

static void product_check(void)
{
    static unsigned long round;
    long n = blocks * size;
    double *x = room_for((size_t)n, sizeof *x);
    round++;
    for (long i = 0; i < n; i++)
        x[i] = drawn((unsigned long)i + 7919 * round);
    double *right = times(b, x), *wanted = times(a, right), *found = times(c, x);
    for (long row = 0; row < n; row++)
        MUST(found[row] == wanted[row], "product: row %ld of c times a vector is %g, not %g", row, found[row],
             wanted[row]);
    free(x), free(right), free(wanted), free(found);
}

const struct graph product_graph = {"product", product_prepare, product_begin, product_run, product_check};
