/* LU, QR and Cholesky of a square matrix, after SLATE: a block column is factored by threads of the host, all
 * behind it are updated on GPUs.
 *
 * | file | what is in it |
 * |---|---|
 * | factor.c | options, rounds, what is printed |
 * | factor_graph.c | the tasks and what is copied where: the same for all three |
 * | factor_lu.c, factor_qr.c, factor_chol.c | what threads of a panel do, and what becomes of a block column
 * on a GPU | | factor_check.c | the residual |
 *
 * Plain OpenMP but for one of the two ways of copying: it runs under LLVM's runtime as well. */
#ifndef FACTOR_H
#define FACTOR_H
#include <math.h>
#include "gpu.h"

enum { MOST_DEPTH = 8, MOST_GPUS = 16, MOST_TEAM = 64, GROUP = 8, SLICES = 16 };

/* The matrix: block columns of nb columns and n rows, each by rows, so the rows of a panel lie together. */
struct matrix {
    long n, nb, count;
    double **column; /* factored in place */
    double (*element)(long row, long column);
    long *pivot; /* LU: the row that was exchanged with each */
    double *tau; /* QR: of each reflector */
};
extern struct matrix matrix;

/* What updates of a step read: the factored panel from its diagonal block on. So many steps can be under way
 * as there are slots. */
struct slot {
    double *v;     /* LU, Cholesky: rows of L; QR: reflectors, with their ones and zeros */
    double *small; /* nb by nb. LU: the diagonal block's L inverted; QR: T */
    long *origin;  /* LU: from where each row came, counted from the diagonal block's first one */
};

/* A step, for its updates. `there` stands for its slot's copies in depend clauses. */
struct step {
    long first, rows; /* of the matrix: the diagonal block's first, and from there on */
    const struct slot *slot;
    const char *there;
    int device;
};

/* What a block column uses on its GPU besides. */
struct work {
    double *w;    /* nb by nb, twice */
    double *part; /* QR: SLICES times nb by nb */
};

/* A team that factors a panel. `spins`: its threads wait for each other in a loop that no runtime can see, as
 * SLATE's do; else in OpenMP's barrier. */
struct team {
    int size, spins;
    _Alignas(64) int arrived;
    _Alignas(64) int generation;
    _Alignas(64) double best[MOST_TEAM][8]; /* what each thread found, on a line of its own: value, row */
    double *sums[MOST_TEAM];                /* QR: of nb columns */
};
void meet(struct team *team);

struct routine {
    const char *name;
    double flops; /* this times n cubed */
    double (*element)(long row, long column);
    void (*panel)(struct team *team, int rank, double *rows, long m,
                  long first); /* by each thread of the team, in place */
    void (*publish)(struct team *team, int rank, const double *rows, long m, long first,
                    const struct slot *slot); /* likewise, behind it */
    void (*update)(const struct step *step, long j,
                   const struct work *work); /* target regions that update block column j */
    void (*finish)(void);                    /* on the host, when all is there; may be null */
    double (*residual)(void);
};
extern const struct routine lu, qr, cholesky;

/* How block columns come to GPUs and back. */
enum way {
    BY_UPDATE, /* `target update nowait depend`, GPUs in turns, by their numbers */
    BY_ARRAYS  /* coherent arrays, GPUs of the runtime's choice */
};

/* Makes the matrix and what its factorization needs. */
void graph_prepare(const struct routine *routine, enum way way, long n, long nb, int depth);
/* From the matrix on the host to its factors there; in seconds. */
double graph_run(const struct routine *routine, int panel_threads, int spins);
void graph_release(void);

/* Some number of 64 bits for each `number`. */
static inline unsigned long mixed(unsigned long number)
{
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9ul;
    number = (number ^ number >> 27) * 0x94d049bb133111ebul;
    return number ^ number >> 31;
}

/* Between -0.5 and 0.5. */
static inline double drawn(unsigned long number)
{
    return (double)(mixed(number + 0x9e3779b97f4a7c15ul) >> 11) / 9007199254740992.0 - 0.5;
}

double any_element(long row, long column);

/* Rows [*begin, end) of a panel, the next strip that is thread `rank`'s: strips are dealt round robin, as
 * SLATE's tiles are. */
enum { STRIP = 32 };
#define OWN_ROWS(row, from, m, rank, size) \
    for (long strip_ = (rank); strip_ * STRIP < (m); strip_ += (size)) \
        for (long row = strip_ * STRIP > (from) ? strip_ * STRIP : (from); \
             row < (m) && row < (strip_ + 1) * STRIP; row++)

/* On a GPU: GROUP rows of a column of `v` times `w`, taken from `sum`. Rows of v and w have nb elements; w
 * points at the column. */
#pragma omp declare target
static inline void take_products(double *sum, const double *v, const double *w, long nb)
{
#pragma unroll 4
    for (long t = 0; t < nb; t++) {
        double x = w[t * nb];
#pragma unroll
        for (int g = 0; g < GROUP; g++)
            sum[g] -= v[g * nb + t] * x;
    }
}
#pragma omp end declare target

/* c -= v * w for rows of the block column `c` from the step's row `from` on: a region. */
void subtract_product(const struct step *step, double *c, double *w, long from);

/* Residuals (factor_check.c). */
double residual_of_lu(void);
double residual_of_qr(void);
double residual_of_cholesky(void);
#endif
