/* Strassen's product of two matrices: seven products of halves, each a task, down to blocks. */
#include "programs.h"

#include <math.h>
#include <stdlib.h>

enum { N = 512, LEAF = 64, PRODUCTS = 7 };

static double *a, *b, *c;

/* A square block of a matrix whose rows are `stride` apart. */
struct block {
    double *at;
    long stride;
};

static struct block quarter(struct block m, long half, int row, int column)
{
    return (struct block){m.at + row * half * m.stride + column * half, m.stride};
}

/* z = x + sign * y. */
static void combine(struct block x, double sign, struct block y, struct block z, long n)
{
    for (long i = 0; i < n; ++i)
        for (long j = 0; j < n; ++j)
            z.at[i * z.stride + j] = x.at[i * x.stride + j] + sign * y.at[i * y.stride + j];
}

static void multiply_leaf(struct block x, struct block y, struct block z, long n)
{
    for (long i = 0; i < n; ++i) {
        for (long j = 0; j < n; ++j)
            z.at[i * z.stride + j] = 0;
        for (long k = 0; k < n; ++k) {
            const double factor = x.at[i * x.stride + k];
            for (long j = 0; j < n; ++j)
                z.at[i * z.stride + j] += factor * y.at[k * y.stride + j];
        }
    }
}

static void multiply(struct block x, struct block y, struct block z, long n);

/* Product `which` of the seven (Strassen 1969), into `to`. */
static void product(int which, struct block x, struct block y, struct block to, long half)
{
    /* Of x and of y: two quarters and the sign of the second, 0 if there is none. */
    static const struct {
        char row, column, sign, row2, column2;
    } left[PRODUCTS] = {{0, 0, 1, 1, 1}, {1, 0, 1, 1, 1},  {0, 0, 0, 0, 0}, {1, 1, 0, 0, 0},
                        {0, 0, 1, 0, 1}, {1, 0, -1, 0, 0}, {0, 1, -1, 1, 1}},
      right[PRODUCTS] = {{0, 0, 1, 1, 1}, {0, 0, 0, 0, 0}, {0, 1, -1, 1, 1}, {1, 0, -1, 0, 0},
                         {1, 1, 0, 0, 0}, {0, 0, 1, 0, 1}, {1, 0, 1, 1, 1}};
    double *memory = malloc(2 * (size_t)(half * half) * sizeof *memory);
    if (memory == NULL)
        abort();
    struct block l = {memory, half}, r = {memory + half * half, half};
    const struct block l1 = quarter(x, half, left[which].row, left[which].column);
    const struct block r1 = quarter(y, half, right[which].row, right[which].column);
    if (left[which].sign != 0)
        combine(l1, left[which].sign, quarter(x, half, left[which].row2, left[which].column2), l, half);
    else
        l = l1;
    if (right[which].sign != 0)
        combine(r1, right[which].sign, quarter(y, half, right[which].row2, right[which].column2), r, half);
    else
        r = r1;
    multiply(l, r, to, half);
    free(memory);
}

static void multiply(struct block x, struct block y, struct block z, long n)
{
    if (n <= LEAF) {
        multiply_leaf(x, y, z, n);
        return;
    }
    const long half = n / 2;
    double *memory = malloc(PRODUCTS * (size_t)(half * half) * sizeof *memory);
    if (memory == NULL)
        abort();
    struct block p[PRODUCTS];
    for (int i = 0; i < PRODUCTS; ++i) {
        p[i] = (struct block){memory + i * half * half, half};
#pragma omp task firstprivate(i) shared(p)
        product(i, x, y, p[i], half);
    }
#pragma omp taskwait
    const struct block z00 = quarter(z, half, 0, 0), z01 = quarter(z, half, 0, 1);
    const struct block z10 = quarter(z, half, 1, 0), z11 = quarter(z, half, 1, 1);
    combine(p[0], 1, p[3], z00, half);
    combine(z00, -1, p[4], z00, half);
    combine(z00, 1, p[6], z00, half);
    combine(p[2], 1, p[4], z01, half);
    combine(p[1], 1, p[3], z10, half);
    combine(p[0], -1, p[1], z11, half);
    combine(z11, 1, p[2], z11, half);
    combine(z11, 1, p[5], z11, half);
    free(memory);
}

static void prepare(void)
{
    if (a == NULL) {
        a = allocate(N * N, sizeof *a);
        b = allocate(N * N, sizeof *b);
        c = allocate(N * N, sizeof *c);
    }
    unsigned long state = 17;
    for (long i = 0; i < N * N; ++i) {
        a[i] = next_real(&state) - 0.5;
        b[i] = next_real(&state) - 0.5;
        c[i] = 0;
    }
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    multiply((struct block){a, N}, (struct block){b, N}, (struct block){c, N}, N);
}

/* y = m x. */
static void apply(const double *m, const double *x, double *y)
{
    for (long i = 0; i < N; ++i) {
        y[i] = 0;
        for (long j = 0; j < N; ++j)
            y[i] += m[i * N + j] * x[j];
    }
}

/* Freivalds: c x = a (b x) for a random x. */
static const char *check(void)
{
    double x[N], bx[N], abx[N], cx[N];
    unsigned long state = 18;
    for (int i = 0; i < N; ++i)
        x[i] = next_real(&state) - 0.5;
    apply(b, x, bx);
    apply(a, bx, abx);
    apply(c, x, cx);
    for (int i = 0; i < N; ++i)
        if (!(fabs(abx[i] - cx[i]) < 1e-8))
            return "not the product";
    return NULL;
}

const struct program strassen_program = {"strassen", prepare, solve, check};
