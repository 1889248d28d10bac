/* Transforms by FFTW's OpenMP library, forward and back. Argument: edge of the cube. */
#include "runtime_used.h"
#include <complex.h>
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>

static void fill(fftw_complex *x, int n)
{
    unsigned s = 12345;
    for (int i = 0; i < n; i++) {
        s = s * 1664525u + 1013904223u;
        x[i] = (s >> 8) / 16777216.0 - 0.5 + I * ((s & 0xff) / 256.0);
    }
}

static void print(const char *what, const fftw_complex *x, int n)
{
    double sum = 0, last = cabs(x[n - 1]);
    for (int i = 0; i < n; i++)
        sum += cabs(x[i]);
    printf("%s %.12e %.12e\n", what, sum, last);
}

static void transform(const char *what, int rank, const int *dims)
{
    int n = 1;
    for (int i = 0; i < rank; i++)
        n *= dims[i];
    fftw_complex *in = fftw_alloc_complex(n), *out = fftw_alloc_complex(n);
    fftw_plan there = fftw_plan_dft(rank, dims, in, out, FFTW_FORWARD, FFTW_ESTIMATE);
    fftw_plan back = fftw_plan_dft(rank, dims, out, in, FFTW_BACKWARD, FFTW_ESTIMATE);
    fill(in, n);
    double before = cabs(in[n / 2]);
    for (int i = 0; i < 4; i++) {
        fftw_execute(there);
        if (i == 0)
            print(what, out, n);
        fftw_execute(back);
        for (int k = 0; k < n; k++)
            in[k] /= n;
    }
    printf("%s returns %s\n", what, fabs(cabs(in[n / 2]) - before) < 1e-10 ? "yes" : "no");
    fftw_destroy_plan(there), fftw_destroy_plan(back), fftw_free(in), fftw_free(out);
}

int main(int argc, char **argv)
{
    int edge = argc > 1 ? atoi(argv[1]) : 64;
    fftw_init_threads();
    fftw_plan_with_nthreads(omp_get_max_threads());
    report_runtime();
    transform("cube", 3, (int[]){edge, edge, edge});
    transform("plane", 2, (int[]){8 * edge, 6 * edge});
    transform("line", 1, (int[]){edge * edge * 16});
    fftw_cleanup_threads();
    return 0;
}
