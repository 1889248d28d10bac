/* Block low-rank: each block of a matrix becomes the product of two thin ones, with which a vector is
 * multiplied over and over. After the fifth of Parla's programs, whose blocks are on the host and go to the
 * GPUs for this.
 *
 * An element is the reciprocal of the distance of two points, of two squares that lie apart: far from low
 * rank in exact numbers, close to it in those of a computer. A block times random signs gives the columns
 * that span it (three regions: the product, an orthonormal basis Q of it, and V with block = Q * V
 * transposed). The answer is compared with products of the host's with the matrix itself, of which the
 * compressed blocks know nothing. */
#include "graphs.h"

enum { BLOCKS = 4 };
static long size, rank, products;
static double *dense[BLOCKS][BLOCKS];  /* by rows; only read */
static double *basis[BLOCKS][BLOCKS];  /* Q by rows, and a row more for what its kernel notes */
static double *weight[BLOCKS][BLOCKS]; /* V by rows */
static double *part[BLOCKS][BLOCKS];   /* of a product, and behind it what its kernel notes */
static double *vector[BLOCKS];
static double (*points)[2]; /* those of rows, then those of columns */

static double between_0_and_1(unsigned long number)
{
    return (double)(mixed(number) >> 11) / 9007199254740992.0;
}

static double element(long row, long column)
{
    double x = points[row][0] - points[BLOCKS * size + column][0],
           y = points[row][1] - points[BLOCKS * size + column][1];
    return 1 / __builtin_sqrt(x * x + y * y);
}

/* Points in the order of the matrix, from left to right in their square; the squares are one unit apart. */
static void place_points(void)
{
    long n = BLOCKS * size;
    points = room_for((size_t)(2 * n), sizeof *points);
    for (long i = 0; i < 2 * n; i++) {
        points[i][0] =
            ((double)(i % n) + between_0_and_1(2ul * (unsigned long)i)) / (double)n + (i < n ? 0 : 2);
        points[i][1] = between_0_and_1(2ul * (unsigned long)i + 1);
    }
}

static double *filled(long row, long column)
{
    double *block = room_for((size_t)(size * size), sizeof *block);
#pragma omp parallel for
    for (long p = 0; p < size; p++)
        for (long q = 0; q < size; q++)
            block[p * size + q] = element(row * size + p, column * size + q);
    return block;
}

static void blr_prepare(int is_small)
{
    size = is_small ? 64 : 2500, rank = is_small ? 32 : 100, products = is_small ? 4 : 20;
    place_points();
    for (long i = 0; i < BLOCKS; i++) {
        vector[i] = room_for((size_t)size, sizeof **vector);
        for (long j = 0; j < BLOCKS; j++) {
            dense[i][j] = filled(i, j);
            basis[i][j] = room_for((size_t)((size + 1) * rank), sizeof ***basis);
            weight[i][j] = room_for((size_t)(size * rank), sizeof ***weight);
            part[i][j] = room_for((size_t)(size + rank), sizeof ***part);
        }
    }
}

static double first_value(long at)
{
    return between_0_and_1((unsigned long)at + 1000000007ul) + 0.5;
}

static void blr_begin(void)
{
    for (long i = 0; i < BLOCKS; i++) {
        for (long at = 0; at < size; at++)
            vector[i][at] = first_value(i * size + at);
        for (long j = 0; j < BLOCKS; j++) {
            memset(basis[i][j], 0, (size_t)((size + 1) * rank) * sizeof ***basis);
            memset(weight[i][j], 0, (size_t)(size * rank) * sizeof ***weight);
        }
    }
}

/* Q = the block times random signs. */
static void sample(long i, long j)
{
    double *a = dense[i][j], *q = basis[i][j];
    long n = size, r = rank;
    int device = place_in_blocks(i, BLOCKS);
#pragma omp target SPREAD nowait depend(in : a[0]) depend(out : q[0]) map(to : a[0 : n * n]) \
    map(tofrom : q[0 : (n + 1) * r]) firstprivate(n, r) device(device)
    for (long at = 0; at < n * r; at++) {
        long row = at / r, column = at % r;
        double sum = 0;
        for (long k = 0; k < n; k++)
            sum += mixed((unsigned long)(k * r + column)) & 1 ? a[row * n + k] : -a[row * n + k];
        q[at] = sum;
    }
}

/* Its columns become orthonormal, one after the other, each twice against those before it: in few digits only
 * is such a column a new direction. One team, whose threads meet six times a column. */
static void orthonormalize(long i, long j)
{
    double *q = basis[i][j];
    long n = size, r = rank;
    int device = place_in_blocks(i, BLOCKS);
#pragma omp target nowait depend(inout : q[0]) map(tofrom : q[0 : (n + 1) * r]) firstprivate(n, r) \
    device(device)
    for (long c = 0; c < r; c++) {
        double *noted = q + n * r; /* what column c has of the columns before it; then its length squared */
        for (int again = 0; again < 2; again++) {
            SPREAD_INSIDE
            for (long k = 0; k < c; k++) {
                double sum = 0;
                for (long p = 0; p < n; p++)
                    sum += q[p * r + k] * q[p * r + c];
                noted[k] = sum;
            }
            SPREAD_INSIDE
            for (long p = 0; p < n; p++) {
                double sum = q[p * r + c];
                for (long k = 0; k < c; k++)
                    sum -= q[p * r + k] * noted[k];
                q[p * r + c] = sum;
            }
        }
        SPREAD_INSIDE
        for (long k = 0; k < r; k++) {
            double sum = 0;
            for (long p = k; p < n; p += r)
                sum += q[p * r + c] * q[p * r + c];
            noted[k] = sum;
        }
        double square = 0;
        for (long k = 0; k < r; k++)
            square += noted[k];
        double scale = square > 1e-24 ? 1 / __builtin_sqrt(square) : 0;
        SPREAD_INSIDE
        for (long p = 0; p < n; p++)
            q[p * r + c] *= scale;
    }
}

/* V = the block, transposed, times Q. */
static void project(long i, long j)
{
    double *a = dense[i][j], *q = basis[i][j], *v = weight[i][j];
    long n = size, r = rank;
    int device = place_in_blocks(i, BLOCKS);
#pragma omp target SPREAD nowait depend(in : a[0], q[0]) depend(out : v[0]) \
    map(to : a[0 : n * n], q[0 : (n + 1) * r]) map(tofrom : v[0 : n * r]) firstprivate(n, r) device(device)
    for (long at = 0; at < n * r; at++) {
        long column = at / r, k = at % r;
        double sum = 0;
        for (long p = 0; p < n; p++)
            sum += a[p * n + column] * q[p * r + k];
        v[at] = sum;
    }
}

/* The part of a product that comes from a block: one team. */
static void multiply(long i, long j)
{
    double *q = basis[i][j], *v = weight[i][j], *x = vector[j], *y = part[i][j];
    long n = size, r = rank;
    int device = place_in_blocks(i, BLOCKS);
#pragma omp target nowait depend(in : q[0], v[0], x[0]) depend(out : y[0]) \
    map(to : q[0 : (n + 1) * r], v[0 : n * r], x[0 : n]) map(tofrom : y[0 : n + r]) firstprivate(n, r) \
    device(device)
    {
        SPREAD_INSIDE
        for (long k = 0; k < r; k++) {
            double sum = 0;
            for (long p = 0; p < n; p++)
                sum += v[p * r + k] * x[p];
            y[n + k] = sum;
        }
        SPREAD_INSIDE
        for (long p = 0; p < n; p++) {
            double sum = 0;
            for (long k = 0; k < r; k++)
                sum += q[p * r + k] * y[n + k];
            y[p] = sum;
        }
    }
}

/* All parts of a row of blocks, as the next product's vector. Elements are of the order of 1, so their sums
 * are divided by how many they are. */
static void add_up(long i)
{
    double *x = vector[i], *y0 = part[i][0], *y1 = part[i][1], *y2 = part[i][2], *y3 = part[i][3];
    long n = size, all = size + rank;
    int device = place_in_blocks(i, BLOCKS);
#pragma omp target SPREAD nowait depend(in : y0[0], y1[0], y2[0], y3[0]) depend(out : x[0]) \
    map(to : y0[0 : all], y1[0 : all], y2[0 : all], y3[0 : all]) map(tofrom : x[0 : n]) firstprivate(n) \
    device(device)
    for (long p = 0; p < n; p++)
        x[p] = (y0[p] + y1[p] + y2[p] + y3[p]) / (double)(BLOCKS * n);
}

static void blr_run(void)
{
    for (long i = 0; i < BLOCKS; i++)
        for (long j = 0; j < BLOCKS; j++) {
            sample(i, j);
            orthonormalize(i, j);
            project(i, j);
        }
    for (long product = 0; product < products; product++) {
        for (long i = 0; i < BLOCKS; i++)
            for (long j = 0; j < BLOCKS; j++)
                multiply(i, j);
        for (long i = 0; i < BLOCKS; i++)
            add_up(i);
    }
}

/* The same products with all elements, by the host, once. */
static const double *wanted(void)
{
    static double *kept;
    if (kept)
        return kept;
    long n = BLOCKS * size;
    double *next = room_for((size_t)n, sizeof *next);
    kept = room_for((size_t)n, sizeof *kept);
    for (long at = 0; at < n; at++)
        kept[at] = first_value(at);
    for (long product = 0; product < products; product++) {
#pragma omp parallel for
        for (long row = 0; row < n; row++) {
            double sum = 0;
            for (long column = 0; column < n; column++)
                sum += element(row, column) * kept[column];
            next[row] = sum / (double)n;
        }
        double *old = kept;
        kept = next, next = old;
    }
    free(next);
    return kept;
}

static void blr_check(void)
{
    const double *host = wanted();
    for (long at = 0; at < BLOCKS * size; at++) {
        double found = vector[at / size][at % size], right = host[at];
        MUST(__builtin_fabs(found - right) <= 1e-10 * __builtin_fabs(right),
             "block low-rank: element %ld is %.12g, not %.12g", at, found, right);
    }
}

const struct graph blr_graph = {"block low-rank", blr_prepare, blr_begin, blr_run, blr_check};
