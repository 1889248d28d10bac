/* QR by Householder's reflectors, a panel of them at a time as I - V T V^T. A thread sums what the next
 * reflector needs while it applies the last one, so threads meet twice a column. */
#include "factor.h"

static double *triangle; /* T of the panel that is being factored, of which there is one at a time */

/* What thread `rank` has of the squares of column j below row `from`. */
static double squares(const struct team *team, int rank, const double *a, long m, long j, long from)
{
    double sum = 0;
    OWN_ROWS(i, from, m, rank, team->size)
    sum += a[i * matrix.nb + j] * a[i * matrix.nb + j];
    return sum;
}

struct reflector {
    double beta, tau, scale; /* of v, whose first element is 1 */
};

/* All threads add in the same order, so they have the same. */
static struct reflector reflector(const struct team *team, double alpha)
{
    double below = 0;
    for (int rank = 0; rank < team->size; rank++)
        below += team->best[rank][0];
    if (below == 0)
        return (struct reflector){alpha, 0, 0};
    double beta = -copysign(sqrt(alpha * alpha + below), alpha);
    return (struct reflector){beta, (beta - alpha) / beta, 1 / (alpha - beta)};
}

/* Column j of T: -tau T z above the diagonal, where z is V transposed times v. */
static void add_to_triangle(double *t, const double *z, double tau, long j)
{
    long nb = matrix.nb;
    for (long r = 0; r < j; r++) {
        double sum = 0;
        for (long s = r; s < j; s++)
            sum += t[r * nb + s] * z[s];
        t[r * nb + j] = -tau * sum;
    }
    for (long r = j + 1; r < nb; r++)
        t[r * nb + j] = 0;
    t[j * nb + j] = tau;
}

/* The thread's rows of v, and what they have of v times all columns. */
static void scale_and_multiply(const struct team *team, int rank, double *a, long m, long j, double scale)
{
    long nb = matrix.nb;
    double *sums = team->sums[rank];
    memset(sums, 0, (size_t)nb * sizeof *sums);
    OWN_ROWS(i, j, m, rank, team->size)
    {
        double v = i == j ? 1 : (a[i * nb + j] *= scale);
        for (long s = 0; s < nb; s++)
            sums[s] += v * a[i * nb + s];
    }
}

static void apply(const struct team *team, int rank, double *a, long m, long j, const double *all,
                  struct reflector h)
{
    long nb = matrix.nb;
    OWN_ROWS(i, j, m, rank, team->size)
    {
        double by = h.tau * (i == j ? 1 : a[i * nb + j]);
        for (long s = j + 1; s < nb; s++)
            a[i * nb + s] -= by * all[s];
        if (i == j)
            a[i * nb + j] = h.beta;
    }
}

static void qr_panel(struct team *team, int rank, double *a, long m, long first)
{
    long nb = matrix.nb;
    double all[nb];
    if (rank == 0 && !triangle)
        MUST(triangle = malloc((size_t)(nb * nb) * sizeof *triangle), "no memory");
    team->best[rank][0] = squares(team, rank, a, m, 0, 1);
    for (long j = 0; j < nb; j++) {
        meet(team);
        struct reflector h = reflector(team, a[j * nb + j]);
        scale_and_multiply(team, rank, a, m, j, h.scale);
        meet(team);
        memset(all, 0, sizeof all);
        for (int other = 0; other < team->size; other++)
            for (long s = 0; s < nb; s++)
                all[s] += team->sums[other][s];
        apply(team, rank, a, m, j, all, h);
        if (rank == 0) {
            matrix.tau[first + j] = h.tau;
            add_to_triangle(triangle, all, h.tau, j);
        }
        team->best[rank][0] = j + 1 < nb ? squares(team, rank, a, m, j + 1, j + 2) : 0;
    }
}

static void qr_publish(struct team *team, int rank, const double *a, long m, long first,
                       const struct slot *slot)
{
    (void)first;
    long nb = matrix.nb;
    OWN_ROWS(i, 0, m, rank, team->size)
    for (long s = 0; s < nb; s++)
        slot->v[i * nb + s] = s < i ? a[i * nb + s] : s == i;
    if (rank == 0)
        memcpy(slot->small, triangle, (size_t)(nb * nb) * sizeof *triangle);
}

/* V transposed times C, in slices of rows: a thread has GROUP rows of the product, one column, one slice. */
static void multiply_slices(const struct step *step, double *c, double *part)
{
    double *v = step->slot->v;
    long n = matrix.n, nb = matrix.nb, first = step->first, m = step->rows;
    const char *there = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : there[0]) depend(inout : c[0]) \
    depend(out : part[0]) map(to : v[0 : m * nb], c[0 : n * nb]) map(from : part[0 : SLICES * nb * nb]) \
    firstprivate(nb, first, m) device(step -> device)
    for (long at = 0; at < SLICES * nb / GROUP * nb; at++) {
        long column = at % nb, row = at / nb % (nb / GROUP) * GROUP, slice = at / nb / (nb / GROUP);
        double sum[GROUP] = {0};
        for (long i = slice * m / SLICES; i < (slice + 1) * m / SLICES; i++) {
            double x = c[(first + i) * nb + column];
#pragma unroll
            for (int g = 0; g < GROUP; g++)
                sum[g] += v[i * nb + row + g] * x;
        }
        for (int g = 0; g < GROUP; g++)
            part[(slice * nb + row + g) * nb + column] = sum[g];
    }
}

/* All slices, added up, and T transposed times that: in two regions, since each element of the second needs a
 * whole column of the first. */
static void add_slices(const struct step *step, double *part, double *w)
{
    long nb = matrix.nb;
#pragma omp target teams distribute parallel for nowait depend(in : part[0]) depend(out : w[0]) \
    map(to : part[0 : SLICES * nb * nb]) map(from : w[0 : 2 * nb * nb]) firstprivate(nb) \
    device(step -> device)
    for (long at = 0; at < nb * nb; at++) {
        double sum = 0;
        for (long slice = 0; slice < SLICES; slice++)
            sum += part[slice * nb * nb + at];
        w[nb * nb + at] = sum;
        w[at] = 0;
    }
}

static void multiply_triangle(const struct step *step, double *w)
{
    double *small = step->slot->small;
    long nb = matrix.nb;
    const char *there = step->there;
#pragma omp target teams distribute parallel for nowait depend(in : there[0]) depend(inout : w[0]) \
    map(to : small[0 : nb * nb]) map(tofrom : w[0 : 2 * nb * nb]) firstprivate(nb) device(step -> device)
    for (long at = 0; at < nb * nb; at++) {
        long r = at / nb, column = at % nb;
        double sum = 0;
        for (long t = 0; t <= r; t++)
            sum += small[t * nb + r] * w[(nb + t) * nb + column];
        w[at] = sum;
    }
}

static void qr_update(const struct step *step, long j, const struct work *work)
{
    multiply_slices(step, matrix.column[j], work->part);
    add_slices(step, work->part, work->w);
    multiply_triangle(step, work->w);
    subtract_product(step, matrix.column[j], work->w, 0);
}

const struct routine qr = {"QR", 4.0 / 3, any_element, qr_panel, qr_publish, qr_update, NULL, residual_of_qr};
