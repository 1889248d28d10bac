/* LU with partial pivoting. A thread of the panel searches the next column while it takes the last one's
 * product from its rows, so threads meet twice a column. GPUs get the diagonal block's L inverted: solving
 * with it is a product there, too, as in MAGMA. */
#include "factor.h"

static void note(struct team *team, int rank, double value, long row)
{
    team->best[rank][0] = value;
    team->best[rank][1] = (double)row;
}

/* The largest element of the column, the first of equal ones. Not a number: row j. */
static long chosen(const struct team *team, long j)
{
    double value = -1;
    long row = j;
    for (int rank = 0; rank < team->size; rank++) {
        double other = team->best[rank][0];
        long at = (long)team->best[rank][1];
        if (other > value || (other == value && at < row))
            value = other, row = at;
    }
    return row;
}

static void exchange(double *one, double *other, long count)
{
    if (one != other)
        for (long at = 0; at < count; at++) {
            double kept = one[at];
            one[at] = other[at], other[at] = kept;
        }
}

/* Row `row` without what column j has of it. */
static void eliminate(double *row, const double *top, long j, long nb)
{
    double l = row[j] /= top[j];
    for (long s = j + 1; s < nb; s++)
        row[s] -= l * top[s];
}

static void search_first(struct team *team, int rank, const double *a, long m)
{
    double best = -1;
    long where = 0;
    OWN_ROWS(i, 0, m, rank, team->size)
    if (fabs(a[i * matrix.nb]) > best)
        best = fabs(a[i * matrix.nb]), where = i;
    note(team, rank, best, where);
}

static void lu_panel(struct team *team, int rank, double *a, long m, long first)
{
    long nb = matrix.nb;
    search_first(team, rank, a, m);
    for (long j = 0; j < nb; j++) {
        meet(team);
        if (rank == 0) {
            long row = chosen(team, j);
            matrix.pivot[first + j] = first + row;
            exchange(a + j * nb, a + row * nb, nb);
        }
        meet(team);
        double best = -1;
        long where = j + 1;
        OWN_ROWS(i, j + 1, m, rank, team->size)
        {
            eliminate(a + i * nb, a + j * nb, j, nb);
            if (j + 1 < nb && fabs(a[i * nb + j + 1]) > best)
                best = fabs(a[i * nb + j + 1]), where = i;
        }
        note(team, rank, best, where);
    }
}

/* Column c of the inverse of the unit lower triangle in `a`. */
static void invert_column(double *inverse, const double *a, long c)
{
    long nb = matrix.nb;
    for (long r = 0; r < nb; r++) {
        double sum = r == c;
        for (long t = c; t < r; t++)
            sum -= a[r * nb + t] * inverse[t * nb + c];
        inverse[r * nb + c] = sum;
    }
}

static void lu_publish(struct team *team, int rank, const double *a, long m, long first,
                       const struct slot *slot)
{
    long nb = matrix.nb;
    OWN_ROWS(i, nb, m, rank, team->size)
    memcpy(slot->v + i * nb, a + i * nb, (size_t)nb * sizeof *a);
    for (long c = rank; c < nb; c += team->size)
        invert_column(slot->small, a, c);
    if (rank != 0)
        return;
    for (long i = 0; i < m; i++)
        slot->origin[i] = i;
    for (long j = 0; j < nb; j++) {
        long other = matrix.pivot[first + j] - first, kept = slot->origin[j];
        slot->origin[j] = slot->origin[other], slot->origin[other] = kept;
    }
}

/* W = L inverted times the rows that have come to the top; beside it those that were there, since some of
 * them go down. */
static void solve(const struct step *step, double *c, double *w)
{
    double *small = step->slot->small;
    long *origin = step->slot->origin, n = matrix.n, nb = matrix.nb, first = step->first, m = step->rows;
    const char *there = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : there[0]) depend(inout : c[0]) \
    depend(out : w[0]) map(to : small[0 : nb * nb], origin[0 : m], c[0 : n * nb]) \
    map(from : w[0 : 2 * nb * nb]) firstprivate(nb, first) device(step -> device)
    for (long at = 0; at < nb * nb; at++) {
        long r = at / nb, column = at % nb;
        double sum = 0;
        for (long t = 0; t <= r; t++)
            sum += small[r * nb + t] * c[(first + origin[t]) * nb + column];
        w[at] = sum;
        w[nb * nb + at] = c[(first + r) * nb + column];
    }
}

/* The rows at the top become W, those below are where they came from, without L times W. Only rows of the top
 * come to below. */
static void exchange_and_subtract(const struct step *step, double *c, double *w)
{
    double *v = step->slot->v;
    long *origin = step->slot->origin, n = matrix.n, nb = matrix.nb, first = step->first, m = step->rows;
    const char *there = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : there[0], w[0]) depend(inout : c[0]) \
    map(to : v[0 : m * nb], origin[0 : m], w[0 : 2 * nb * nb]) map(tofrom : c[0 : n * nb]) \
    firstprivate(nb, first, m) device(step -> device)
    for (long at = 0; at < m / GROUP * nb; at++) {
        long row = at / nb * GROUP, column = at % nb;
        double *to = c + (first + row) * nb + column, sum[GROUP];
        for (int g = 0; g < GROUP; g++)
            sum[g] = row < nb               ? w[(row + g) * nb + column]
                     : origin[row + g] < nb ? w[(nb + origin[row + g]) * nb + column]
                                            : to[g * nb];
        if (row >= nb)
            take_products(sum, v + row * nb, w + column, nb);
        for (int g = 0; g < GROUP; g++)
            to[g * nb] = sum[g];
    }
}

static void lu_update(const struct step *step, long j, const struct work *work)
{
    solve(step, matrix.column[j], work->w);
    exchange_and_subtract(step, matrix.column[j], work->w);
}

/* Rows to the left of each panel are exchanged last. */
static void lu_finish(void)
{
    long nb = matrix.nb;
#pragma omp parallel for schedule(dynamic)
    for (long j = 0; j < matrix.count; j++)
        for (long row = (j + 1) * nb; row < matrix.n; row++)
            exchange(matrix.column[j] + row * nb, matrix.column[j] + matrix.pivot[row] * nb, nb);
}

const struct routine lu = {"LU",       2.0 / 3,   any_element, lu_panel,
                           lu_publish, lu_update, lu_finish,   residual_of_lu};
