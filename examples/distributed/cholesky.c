/* A = L * L', tiled. The tiles live on the ranks, and each is written only by the rank where it lives: owner
 * computes. A tile of L that is final goes to main at once (`always, from`), and from there to those tasks on
 * other ranks that read it; all other tiles never move. `depend` makes the graph.
 *
 *     cholesky [size] */
#include "example.h"
#include <math.h>

enum { TILES = 6 };

static long n, cells; /* size of a tile, and its number of elements */
static double *tile[TILES][TILES];

static int owner(int i, int j)
{
    return home(i + 2 * j);
}

/* Task: the diagonal tile. */
static void factor(int k)
{
    double *a = tile[k][k];
    long all = cells, size = n;
#pragma omp target nowait device(owner(k, k)) depend(inout : a[0]) map(always, from : a[0 : all])
    for (long j = 0; j < size; j++)
        for (long i = j; i < size; i++) {
            double sum = a[i * size + j];
            for (long k = 0; k < j; k++)
                sum -= a[i * size + k] * a[j * size + k];
            a[i * size + j] = i == j ? sqrt(sum) : sum / a[j * size + j];
        }
}

/* Task: a tile below it. */
static void solve(int i, int k)
{
    double *l = tile[k][k], *a = tile[i][k];
    long all = cells, size = n;
#pragma omp target nowait device(owner(i, k)) depend(in : l[0]) depend(inout : a[0]) map(to : l[0 : all]) \
    map(always, from : a[0 : all])
    for (long row = 0; row < size; row++)
        for (long j = 0; j < size; j++) {
            double sum = a[row * size + j];
            for (long k = 0; k < j; k++)
                sum -= a[row * size + k] * l[j * size + k];
            a[row * size + j] = sum / l[j * size + j];
        }
}

/* a -= x * y' */
static void subtract(double *a, const double *x, const double *y, long size)
{
    for (long row = 0; row < size; row++)
        for (long j = 0; j < size; j++) {
            double sum = 0;
            for (long k = 0; k < size; k++)
                sum += x[row * size + k] * y[j * size + k];
            a[row * size + j] -= sum;
        }
}

/* Task: what the tiles (i, k) and (j, k) take from the tile (i, j). A construct may not map a tile twice, so
 * there are two. */
static void update(int i, int j, int k)
{
    double *a = tile[i][j], *x = tile[i][k], *y = tile[j][k];
    long all = cells, size = n;
    if (i == j) {
#pragma omp target nowait device(owner(i, j)) depend(in : x[0]) depend(inout : a[0]) \
    map(to : x[0 : all], a[0 : all])
        subtract(a, x, x, size);
    } else {
#pragma omp target nowait device(owner(i, j)) depend(in : x[0], y[0]) depend(inout : a[0]) \
    map(to : x[0 : all], y[0 : all], a[0 : all])
        subtract(a, x, y, size);
    }
}

/* The L that is to be found: 2 on the diagonal, less and less to its left. */
static double wanted(long i, long j)
{
    return j > i ? 0 : j == i ? 2 : 1.0 / ((double)(i - j) * (i - j) + 1);
}

int main(int argc, char **argv)
{
    n = argument(argc, argv, 1, 144) / TILES;
    cells = n * n;
    if (has_nothing_to_begin())
        return 0;
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++) {
            tile[i][j] = memory(cells * sizeof *tile[i][j]);
            for (long e = 0; e < cells; e++) {
                long row = i * n + e / n, column = j * n + e % n;
                double sum = 0;
                for (long k = 0; k <= row && k <= column; k++)
                    sum += wanted(row, k) * wanted(column, k);
                tile[i][j][e] = sum;
            }
        }
    double begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < TILES; i++)
            for (int j = 0; j <= i; j++) {
                double *a = tile[i][j];
                long all = cells;
#pragma omp target enter data nowait device(owner(i, j)) depend(out : a[0]) map(to : a[0 : all])
            }
        for (int k = 0; k < TILES; k++) {
            factor(k);
            for (int i = k + 1; i < TILES; i++)
                solve(i, k);
            for (int i = k + 1; i < TILES; i++)
                for (int j = k + 1; j <= i; j++)
                    update(i, j, k);
        }
        for (int i = 0; i < TILES; i++)
            for (int j = 0; j <= i; j++) {
                double *a = tile[i][j];
                long all = cells;
#pragma omp target exit data nowait device(owner(i, j)) depend(inout : a[0]) map(delete : a[0 : all])
            }
    }
    double seconds = omp_get_wtime() - begin, error = 0, determinant = 0;

    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++) {
            for (long e = 0; e < cells; e++) {
                long row = i * n + e / n, column = j * n + e % n;
                if (column <= row)
                    error = fmax(error, fabs(tile[i][j][e] - wanted(row, column)));
                if (column == row)
                    determinant += 2 * log(tile[i][j][e]);
            }
            free(tile[i][j]);
        }
    int right = error < 1e-9;
    printf("cholesky: size %ld, logarithm of the determinant %.6f, %s\n", n * TILES, determinant,
           right ? "right" : "WRONG");
    printf("  %.3f s; largest error %.1e\n", seconds, error);
    return !right;
}
