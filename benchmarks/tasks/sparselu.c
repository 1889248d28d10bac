/* LU factorization of a matrix of blocks, many of which are zero and not stored. Tasks with dependences on
 * blocks; a zero block that an update fills is allocated before its task is made. */
#include "programs.h"

#include <math.h>
#include <string.h>

enum { BLOCKS = 18, SIZE = 32, N = BLOCKS * SIZE };

typedef double tile[SIZE][SIZE];

static tile *lu[BLOCKS][BLOCKS];
static double input[N][N];

static void diagonal(tile d)
{
    for (int k = 0; k < SIZE; ++k)
        for (int i = k + 1; i < SIZE; ++i) {
            d[i][k] /= d[k][k];
            for (int j = k + 1; j < SIZE; ++j)
                d[i][j] -= d[i][k] * d[k][j];
        }
}

/* A block of the row of `d`: the lower triangle is taken from the left. */
static void to_the_right(tile d, tile r)
{
    for (int k = 0; k < SIZE; ++k)
        for (int i = k + 1; i < SIZE; ++i)
            for (int j = 0; j < SIZE; ++j)
                r[i][j] -= d[i][k] * r[k][j];
}

/* A block of the column of `d`: the upper triangle is taken from the right. */
static void below(tile d, tile b)
{
    for (int i = 0; i < SIZE; ++i)
        for (int k = 0; k < SIZE; ++k) {
            b[i][k] /= d[k][k];
            for (int j = k + 1; j < SIZE; ++j)
                b[i][j] -= b[i][k] * d[k][j];
        }
}

static void update(tile left, tile top, tile inner)
{
    for (int i = 0; i < SIZE; ++i)
        for (int k = 0; k < SIZE; ++k)
            for (int j = 0; j < SIZE; ++j)
                inner[i][j] -= left[i][k] * top[k][j];
}

static int is_stored(int i, int j)
{
    const int distance = i > j ? i - j : j - i;
    return distance <= 1 || (i * 7 + j * 3) % 4 == 0;
}

static void prepare(void)
{
    unsigned long state = 23;
    memset(input, 0, sizeof input);
    for (int i = 0; i < BLOCKS; ++i)
        for (int j = 0; j < BLOCKS; ++j) {
            if (lu[i][j] == NULL && is_stored(i, j))
                lu[i][j] = allocate(1, sizeof(tile));
            if (lu[i][j] == NULL)
                continue;
            for (int r = 0; r < SIZE; ++r)
                for (int c = 0; c < SIZE; ++c) {
                    /* A heavy diagonal: no pivots are needed. */
                    const double heavy = i == j && r == c ? N : 0;
                    const double value = is_stored(i, j) ? next_real(&state) - 0.5 + heavy : 0;
                    (*lu[i][j])[r][c] = input[i * SIZE + r][j * SIZE + c] = value;
                }
        }
}

static void step(int k)
{
    tile *const d = lu[k][k];
#pragma omp task depend(inout : d[0])
    diagonal(*d);
    for (int j = k + 1; j < BLOCKS; ++j) {
        tile *const right = lu[k][j], *const under = lu[j][k];
        if (right != NULL) {
#pragma omp task depend(in : d[0]) depend(inout : right[0])
            to_the_right(*d, *right);
        }
        if (under != NULL) {
#pragma omp task depend(in : d[0]) depend(inout : under[0])
            below(*d, *under);
        }
    }
    for (int i = k + 1; i < BLOCKS; ++i)
        for (int j = k + 1; j < BLOCKS; ++j) {
            tile *const left = lu[i][k], *const top = lu[k][j];
            if (left == NULL || top == NULL)
                continue;
            if (lu[i][j] == NULL)
                lu[i][j] = allocate(1, sizeof(tile));
            tile *const inner = lu[i][j];
#pragma omp task depend(in : left[0], top[0]) depend(inout : inner[0])
            update(*left, *top, *inner);
        }
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    for (int k = 0; k < BLOCKS; ++k)
        step(k);
}

static double element(int i, int j)
{
    const tile *block = (const tile *)lu[i / SIZE][j / SIZE];
    return block == NULL ? 0 : (*block)[i % SIZE][j % SIZE];
}

/* L (U x) = A x for a random x. */
static const char *check(void)
{
    static double x[N], ux[N];
    unsigned long state = 24;
    for (int i = 0; i < N; ++i)
        x[i] = next_real(&state) - 0.5;
    for (int i = 0; i < N; ++i) {
        ux[i] = 0;
        for (int j = i; j < N; ++j)
            ux[i] += element(i, j) * x[j];
    }
    for (int i = 0; i < N; ++i) {
        double lux = ux[i], ax = 0;
        for (int j = 0; j < i; ++j)
            lux += element(i, j) * ux[j];
        for (int j = 0; j < N; ++j)
            ax += input[i][j] * x[j];
        if (!(fabs(lux - ax) < 1e-7))
            return "the factors do not give the matrix";
    }
    return NULL;
}

const struct program sparselu_program = {"sparselu", prepare, solve, check};
