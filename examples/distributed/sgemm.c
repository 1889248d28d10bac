/* C = A * B by blocks. A is cut into strips of rows, which live on the ranks; B into strips of columns, which
 * travel to where they are needed. One task for each strip of A and each strip of B makes one block of C.
 *
 * As in saxpy.c a limit shows that more ranks have more room: with OMP_TARGET_OFFLOAD=mandatory
 * OMPX_DEVICE_MEMORY=900K and size 512 one rank has no room for A, and four have (OMPX_CLUSTER=spmd): tasks
 * then wait for each other's room.
 *
 *     sgemm [size] */
#include "example.h"
#include <string.h>

enum { STRIPS = 4 };

/* One block: `m` rows of A of length `n`, times `m` columns of B, which lie as rows `n` of length `m`. */
static void multiply(float *restrict c, const float *restrict a, const float *restrict b, long m, long n)
{
    memset(c, 0, m * m * sizeof *c);
    for (long i = 0; i < m; i++)
        for (long k = 0; k < n; k++)
            for (long j = 0; j < m; j++)
                c[i * m + j] += a[i * n + k] * b[k * m + j];
}

/* Is C * v = A * (B * v), for a v of small whole numbers? All numbers are whole and small enough, so nothing
 * is rounded. */
static int is_product(const float *c, const float *a, const float *b, long m, long n)
{
    double *v = memory(n * sizeof *v), *bv = memory(n * sizeof *bv);
    int right = 1;
    for (long i = 0; i < n; i++)
        v[i] = (double)(i % 7 - 3);
    for (long k = 0; k < n; k++) {
        bv[k] = 0;
        for (long j = 0; j < n; j++)
            bv[k] += b[j / m * m * n + k * m + j % m] * v[j];
    }
    for (long i = 0; i < n; i++) {
        double left = 0, there = 0;
        for (long k = 0; k < n; k++)
            left += a[i * n + k] * bv[k];
        for (long j = 0; j < n; j++)
            there += c[(i / m * STRIPS + j / m) * m * m + i % m * m + j % m] * v[j];
        right &= left == there;
    }
    free(v);
    free(bv);
    return right;
}

int main(int argc, char **argv)
{
    long m = argument(argc, argv, 1, 256) / STRIPS, n = m * STRIPS; /* width of a strip, of the matrices */
    int on[STRIPS * STRIPS];
    if (has_nothing_to_begin())
        return 0;
    float *a = memory(n * n * sizeof *a), *b = memory(n * n * sizeof *b), *c = memory(n * n * sizeof *c);
    for (long i = 0; i < n * n; i++) {
        a[i] = (float)(i % 5);
        b[i] = (float)(i % 11);
    }
    double begin = omp_get_wtime();

#pragma omp parallel
#pragma omp single
    {
        for (int i = 0; i < STRIPS; i++) {
            float *rows = a + i * m * n;
#pragma omp target enter data nowait map(to : rows[0 : m * n]) device(home(i))
        }
#pragma omp taskwait
        /* Tasks that work at the same time on the same rank share a strip of B: it is sent once. */
        for (int t = 0; t < STRIPS * STRIPS; t++) {
            float *rows = a + t / STRIPS * m * n, *columns = b + t % STRIPS * m * n, *block = c + t * m * m;
#pragma omp target nowait map(to : rows[0 : m * n], columns[0 : m * n]) \
    map(from : block[0 : m * m], on[t : 1]) device(any_rank())
            {
                multiply(block, rows, columns, m, n);
                on[t] = rank_here();
            }
        }
#pragma omp taskwait
        for (int i = 0; i < STRIPS; i++) {
            float *rows = a + i * m * n;
#pragma omp target exit data nowait map(delete : rows[0 : m * n]) device(home(i))
        }
    }
    double seconds = omp_get_wtime() - begin, sum = 0;

    for (long i = 0; i < n * n; i++)
        sum += c[i];
    int right = is_product(c, a, b, m, n);
    printf("sgemm: size %ld, sum %.0f, %s\n", n, sum, right ? "right" : "WRONG");
    print_tasks_per_rank(on, STRIPS * STRIPS, seconds);
    free(a);
    free(b);
    free(c);
    return !right;
}
