/* Residuals: the factors times a vector, against the matrix times it, for a few vectors drawn by chance. A
 * wrong element shows in nearly every one; what is compared is 1-norms, in units of n ||A|| ||x|| eps as in
 * LAPACK's tests, so that the usual limit of 30 is the limit here. */
#include "factor.h"

enum { VECTORS = 3 };

double any_element(long row, long column)
{
    return drawn((unsigned long)(row * 1000003 + column));
}

static double *vector(void)
{
    double *made = calloc((size_t)matrix.n, sizeof *made);
    MUST(made, "no memory");
    return made;
}

static double *drawn_vector(long which)
{
    double *x = vector();
    for (long i = 0; i < matrix.n; i++)
        x[i] = drawn((unsigned long)(i + 7777777 * (which + 1)));
    return x;
}

static double size_of(const double *x)
{
    double sum = 0;
    for (long i = 0; i < matrix.n; i++)
        sum += fabs(x[i]);
    return sum;
}

/* The largest sum of a column. */
static double norm_of_matrix(void)
{
    double largest = 0;
#pragma omp parallel for reduction(max : largest)
    for (long column = 0; column < matrix.n; column++) {
        double sum = 0;
        for (long row = 0; row < matrix.n; row++)
            sum += fabs(matrix.element(row, column));
        largest = sum > largest ? sum : largest;
    }
    return largest;
}

/* y = A x */
static double *times_matrix(const double *x)
{
    double *y = vector();
#pragma omp parallel for
    for (long row = 0; row < matrix.n; row++)
        for (long column = 0; column < matrix.n; column++)
            y[row] += matrix.element(row, column) * x[column];
    return y;
}

/* y = a part of the factored matrix times x: of each row the columns [from(row), to(row)). */
enum part { UPPER, BELOW_DIAGONAL, LOWER };
static double *times_part(enum part part, const double *x)
{
    double *y = vector();
    long nb = matrix.nb;
#pragma omp parallel for schedule(dynamic, 64)
    for (long row = 0; row < matrix.n; row++) {
        long from = part == UPPER ? row : 0, to = part == UPPER ? matrix.n : part == LOWER ? row + 1 : row;
        for (long column = from; column < to; column++)
            y[row] += matrix.column[column / nb][row * nb + column % nb] * x[column];
    }
    return y;
}

/* y = the lower triangle, transposed, times x */
static double *times_transposed(const double *x)
{
    double *y = vector();
    long nb = matrix.nb;
#pragma omp parallel for schedule(dynamic)
    for (long j = 0; j < matrix.count; j++)
        for (long row = j * nb; row < matrix.n; row++)
            for (long s = 0; s < nb && j * nb + s <= row; s++)
                y[j * nb + s] += matrix.column[j][row * nb + s] * x[row];
    return y;
}

/* Not a number if there is one that is not. Frees both. */
static double difference(double *one, double *other, double scale)
{
    for (long i = 0; i < matrix.n; i++)
        one[i] -= other[i];
    double size = size_of(one) / ((double)matrix.n * scale * 0x1p-53);
    free(one), free(other);
    return size;
}

/* The largest of all vectors. */
static double worst(double (*of)(const double *x, double scale))
{
    double largest = 0, scale = norm_of_matrix();
    for (long which = 0; which < VECTORS; which++) {
        double *x = drawn_vector(which), found = of(x, scale * size_of(x));
        largest = found <= largest ? largest : found;
        free(x);
    }
    return largest;
}

/* ---- the three
 * -------------------------------------------------------------------------------------------------------------
 */

static double lu_vector(const double *x, double scale)
{
    double *ux = times_part(UPPER, x), *found = times_part(BELOW_DIAGONAL, ux), *wanted = times_matrix(x);
    for (long i = 0; i < matrix.n; i++) {
        found[i] += ux[i];
        double kept = wanted[i];
        wanted[i] = wanted[matrix.pivot[i]], wanted[matrix.pivot[i]] = kept;
    }
    free(ux);
    return difference(found, wanted, scale);
}

/* The reflectors of block column j, one behind the other: what the update of a vector runs through is
 * together then. */
static double *reflectors(long j)
{
    long n = matrix.n, nb = matrix.nb;
    double *v = malloc((size_t)(n * nb) * sizeof *v);
    MUST(v, "no memory");
#pragma omp parallel for
    for (long s = 0; s < nb; s++)
        for (long i = j * nb; i < n; i++)
            v[s * n + i] = i > j * nb + s ? matrix.column[j][i * nb + s] : i == j * nb + s;
    return v;
}

/* x -= tau v (v x) for the reflectors of block column j, in their order or the other way round. */
static void reflect(double *x, long j, int backwards)
{
    long n = matrix.n, nb = matrix.nb;
    double *all = reflectors(j);
    for (long turn = 0; turn < nb; turn++) {
        long s = backwards ? nb - 1 - turn : turn, top = j * nb + s;
        const double *v = all + s * n;
        double sum = 0;
        for (long i = top; i < n; i++)
            sum += v[i] * x[i];
        sum *= matrix.tau[top];
        for (long i = top; i < n; i++)
            x[i] -= sum * v[i];
    }
    free(all);
}

static double *times_q(const double *x)
{
    double *y = vector();
    memcpy(y, x, (size_t)matrix.n * sizeof *y);
    for (long j = matrix.count - 1; j >= 0; j--)
        reflect(y, j, 1);
    return y;
}

/* How far Q R is from A, and Q transposed times Q from doing nothing. */
static double qr_vector(const double *x, double scale)
{
    double *rx = times_part(UPPER, x), *found = times_q(rx), *back = times_q(x), *same = vector();
    for (long j = 0; j < matrix.count; j++)
        reflect(back, j, 0);
    memcpy(same, x, (size_t)matrix.n * sizeof *same);
    free(rx);
    double product = difference(found, times_matrix(x), scale),
           orthogonal = difference(back, same, size_of(x));
    return orthogonal <= product ? product : orthogonal;
}

static double cholesky_vector(const double *x, double scale)
{
    double *half = times_transposed(x), *found = times_part(LOWER, half);
    free(half);
    return difference(found, times_matrix(x), scale);
}

/* Pivots were the largest elements of their columns: no multiplier is above 1. The residual would stay small
 * for a long time without that. */
static void check_pivots(void)
{
    for (long j = 0; j < matrix.count; j++)
        for (long row = j * matrix.nb + 1; row < matrix.n; row++)
            for (long s = 0; s < matrix.nb && j * matrix.nb + s < row; s++)
                MUST(fabs(matrix.column[j][row * matrix.nb + s]) <= 1,
                     "LU: the pivot of column %ld is not the largest element: row %ld", j * matrix.nb + s,
                     row);
}

double residual_of_lu(void)
{
    check_pivots();
    return worst(lu_vector);
}

double residual_of_qr(void)
{
    return worst(qr_vector);
}

double residual_of_cholesky(void)
{
    return worst(cholesky_vector);
}
