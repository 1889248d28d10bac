/* Cholesky: the lower triangle. One thread factors the diagonal block, all solve with it for the rows below.
 */
#include "factor.h"

/* The same on both sides of the diagonal, on which it is large. */
static double symmetric(long row, long column)
{
    return row < column ? any_element(column, row)
                        : any_element(row, column) + (row == column ? (double)matrix.n : 0);
}

/* Element s of a row of L, behind those before it. */
static double solved(const double *row, const double *l, long s)
{
    double sum = row[s];
    for (long t = 0; t < s; t++)
        sum -= row[t] * l[s * matrix.nb + t];
    return sum;
}

static void cholesky_panel(struct team *team, int rank, double *a, long m, long first)
{
    (void)first;
    long nb = matrix.nb;
    if (rank == 0)
        for (long i = 0; i < nb; i++) {
            for (long s = 0; s < i; s++)
                a[i * nb + s] = solved(a + i * nb, a, s) / a[s * nb + s];
            a[i * nb + i] = sqrt(solved(a + i * nb, a, i));
        }
    meet(team);
    OWN_ROWS(i, nb, m, rank, team->size)
    for (long s = 0; s < nb; s++)
        a[i * nb + s] = solved(a + i * nb, a, s) / a[s * nb + s];
}

static void cholesky_publish(struct team *team, int rank, const double *a, long m, long first,
                             const struct slot *slot)
{
    (void)first;
    long nb = matrix.nb;
    OWN_ROWS(i, nb, m, rank, team->size)
    memcpy(slot->v + i * nb, a + i * nb, (size_t)nb * sizeof *a);
}

/* W is the block of L that stands for block column j, transposed: its first rows of that column are `from`.
 */
static void transpose(const struct step *step, double *w, long from)
{
    double *v = step->slot->v;
    long nb = matrix.nb, m = step->rows;
    const char *there = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : there[0]) depend(out : w[0]) \
    map(to : v[0 : m * nb]) map(from : w[0 : 2 * nb * nb]) firstprivate(nb, from) device(step -> device)
    for (long at = 0; at < nb * nb; at++) {
        w[at] = v[(from + at % nb) * nb + at / nb];
        w[nb * nb + at] = 0;
    }
}

static void cholesky_update(const struct step *step, long j, const struct work *work)
{
    long from = j * matrix.nb - step->first;
    transpose(step, work->w, from);
    subtract_product(step, matrix.column[j], work->w, from);
}

const struct routine cholesky = {"Cholesky",       1.0 / 3,         symmetric, cholesky_panel,
                                 cholesky_publish, cholesky_update, NULL,      residual_of_cholesky};
