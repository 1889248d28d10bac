/* A graph of tasks: Cholesky's factorization of a matrix of blocks, ordered by nothing but `depend`. The
   panel of each step is a nested region of two threads. Checks that L times its transpose gives the matrix.

       OMP_MAX_ACTIVE_LEVELS=2 ./graph */
#include <math.h>
#include <omp.h>
#include <stdio.h>

enum { BLOCKS = 6, N = 32 };
typedef double block[N][N];
static block a[BLOCKS][BLOCKS], original[BLOCKS][BLOCKS];

static void factor(block b)
{
    for (int k = 0; k < N; k++) {
        b[k][k] = sqrt(b[k][k]);
#pragma omp parallel for num_threads(2)
        for (int i = k + 1; i < N; i++)
            b[i][k] /= b[k][k];
#pragma omp parallel for num_threads(2)
        for (int i = k + 1; i < N; i++)
            for (int j = k + 1; j <= i; j++)
                b[i][j] -= b[i][k] * b[j][k];
    }
}

static void solve(block l, block b)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            for (int k = 0; k < j; k++)
                b[i][j] -= b[i][k] * l[j][k];
            b[i][j] /= l[j][j];
        }
}

static void update(block x, block y, block b)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                b[i][j] -= x[i][k] * y[j][k];
}

static double entry(int i, int j)
{
    return i == j ? BLOCKS * N + 1.0 : 1.0 / (1 + (i > j ? i - j : j - i));
}

static double l(int i, int j)
{
    return i < j ? 0 : a[i / N][j / N][i % N][j % N];
}

int main(void)
{
    for (int i = 0; i < BLOCKS * N; i++)
        for (int j = 0; j < BLOCKS * N; j++)
            a[i / N][j / N][i % N][j % N] = original[i / N][j / N][i % N][j % N] = entry(i, j);
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < BLOCKS; k++) {
#pragma omp task depend(inout : a[k][k]) firstprivate(k)
        factor(a[k][k]);
        for (int i = k + 1; i < BLOCKS; i++) {
#pragma omp task depend(in : a[k][k]) depend(inout : a[i][k]) firstprivate(i, k)
            solve(a[k][k], a[i][k]);
        }
        for (int i = k + 1; i < BLOCKS; i++)
            for (int j = k + 1; j <= i; j++) {
#pragma omp task depend(in : a[i][k], a[j][k]) depend(inout : a[i][j]) firstprivate(i, j, k)
                update(a[i][k], a[j][k], a[i][j]);
            }
    }
    double worst = 0;
    for (int i = 0; i < BLOCKS * N; i += 7)
        for (int j = 0; j <= i; j += 5) {
            double sum = 0;
            for (int k = 0; k <= j; k++)
                sum += l(i, k) * l(j, k);
            worst = fmax(worst, fabs(sum - original[i / N][j / N][i % N][j % N]));
        }
    printf("largest error %.1e\n", worst);
    return !(worst < 1e-10);
}
