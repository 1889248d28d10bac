/* A matrix as a product of a lower triangle and its transpose, by tiles. The kernels are plain loops: what is
 * compared is where they run. */
#include "graphs.h"

static long tiles, size;
static double *lower; /* tiles of the lower triangle, each by rows */

static double *tile(long row, long column)
{
    return lower + (row * (row + 1) / 2 + column) * size * size;
}

static double element(long row, long column)
{
    return 1.0 / (double)(1 + labs(row - column)) + (row == column ? (double)(tiles * size) : 0);
}

static void cholesky_prepare(int is_small)
{
    tiles = is_small ? 5 : 14, size = is_small ? 24 : 1024;
    lower = room_for((size_t)(tiles * (tiles + 1) / 2 * size * size), sizeof *lower);
}

static void cholesky_begin(void)
{
    for (long i = 0; i < tiles; i++)
        for (long j = 0; j <= i; j++)
            for (long r = 0; r < size; r++)
                for (long s = 0; s < size; s++)
                    tile(i, j)[r * size + s] = element(i * size + r, j * size + s);
}

/* One team, whose threads meet twice a column. */
static void factorize(long k)
{
    double *a = tile(k, k);
    long n = size;
    int device = place_in_turns(k);
#pragma omp target nowait depend(inout : a[0]) map(tofrom : a[0 : n * n]) firstprivate(n) device(device)
    for (long j = 0; j < n; j++) {
        double root = __builtin_sqrt(a[j * n + j]);
        a[j * n + j] = root;
        SPREAD_INSIDE
        for (long r = j + 1; r < n; r++)
            a[r * n + j] /= root;
        SPREAD_INSIDE
        for (long r = j + 1; r < n; r++)
            for (long s = j + 1; s <= r; s++)
                a[r * n + s] -= a[r * n + j] * a[s * n + j];
    }
}

static void solve(long i, long k)
{
    double *a = tile(i, k), *l = tile(k, k);
    long n = size;
    int device = place_in_turns(i);
#pragma omp target SPREAD nowait depend(in : l[0]) depend(inout : a[0]) map(to : l[0 : n * n]) \
    map(tofrom : a[0 : n * n]) firstprivate(n) device(device)
    for (long r = 0; r < n; r++)
        for (long s = 0; s < n; s++) {
            double sum = a[r * n + s];
            for (long t = 0; t < s; t++)
                sum -= a[r * n + t] * l[s * n + t];
            a[r * n + s] = sum / l[s * n + s];
        }
}

static void update(long i, long j, long k)
{
    double *c = tile(i, j), *a = tile(i, k), *b = tile(j, k);
    long n = size;
    int device = place_in_turns(i);
#pragma omp target SPREAD nowait depend(in : a[0], b[0]) depend(inout : c[0]) \
    map(to : a[0 : n * n], b[0 : n * n]) map(tofrom : c[0 : n * n]) firstprivate(n) device(device)
    for (long at = 0; at < n * n; at++) {
        double sum = c[at];
        for (long t = 0; t < n; t++)
            sum -= a[at / n * n + t] * b[at % n * n + t];
        c[at] = sum;
    }
}

/* The same of a tile on the diagonal, which needs one tile. */
static void update_diagonal(long i, long k)
{
    double *c = tile(i, i), *a = tile(i, k);
    long n = size;
    int device = place_in_turns(i);
#pragma omp target SPREAD nowait depend(in : a[0]) depend(inout : c[0]) map(to : a[0 : n * n]) \
    map(tofrom : c[0 : n * n]) firstprivate(n) device(device)
    for (long at = 0; at < n * n; at++) {
        double sum = c[at];
        for (long t = 0; t < n; t++)
            sum -= a[at / n * n + t] * a[at % n * n + t];
        c[at] = sum;
    }
}

static void cholesky_run(void)
{
    for (long k = 0; k < tiles; k++) {
        factorize(k);
        for (long i = k + 1; i < tiles; i++)
            solve(i, k);
        for (long i = k + 1; i < tiles; i++) {
            for (long j = k + 1; j < i; j++)
                update(i, j, k);
            update_diagonal(i, k);
        }
    }
}

/* y = l * x, or its transpose: without the upper half of tiles on the diagonal, in which the first values
 * are. */
static void triangle_times(const double *x, double *y, int is_transposed)
{
    memset(y, 0, (size_t)(tiles * size) * sizeof *y);
    for (long i = 0; i < tiles; i++)
        for (long j = 0; j <= i; j++)
            for (long r = 0; r < size; r++)
                for (long s = 0; s < (i == j ? r + 1 : size); s++) {
                    long row = i * size + r, column = j * size + s;
                    y[is_transposed ? column : row] +=
                        tile(i, j)[r * size + s] * x[is_transposed ? row : column];
                }
}

/* l times its transpose times a vector is the matrix times it. */
static void cholesky_check(void)
{
    long n = tiles * size;
    double *x = room_for((size_t)n, sizeof *x), *half = room_for((size_t)n, sizeof *half),
           *found = room_for((size_t)n, sizeof *found);
    for (long i = 0; i < n; i++)
        x[i] = (double)(mixed((unsigned long)i) % 1000) / 1000 - 0.5;
    triangle_times(x, half, 1);
    triangle_times(half, found, 0);
    for (long row = 0; row < n; row++) {
        double wanted = 0;
        for (long column = 0; column < n; column++)
            wanted += element(row, column) * x[column];
        MUST(__builtin_fabs(found[row] - wanted) <= 1e-12 * (double)n * (double)n,
             "Cholesky: row %ld times a vector is %.15g, not %.15g", row, found[row], wanted);
    }
    free(x), free(half), free(found);
}

const struct graph cholesky_graph = {"Cholesky", cholesky_prepare, cholesky_begin, cholesky_run,
                                     cholesky_check};
