/* Fast Fourier transform: data, kernels, and the check. The recursion is in fft_tasks.c and in tbb.cpp. */
#include "suite.h"

#include <math.h>

enum { BINS = 6 };

struct complex_number *fft_input, *fft_output;

/* exp(-2 pi i k / FFT_COUNT) for the first half. */
static struct complex_number *roots;

static struct complex_number times(struct complex_number a, struct complex_number b)
{
    return (struct complex_number){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

void fft_prepare(void)
{
    if (roots == NULL) {
        roots = allocate(FFT_COUNT / 2, sizeof *roots);
        fft_input = allocate(FFT_COUNT, sizeof *fft_input);
        fft_output = allocate(FFT_COUNT, sizeof *fft_output);
        for (long k = 0; k < FFT_COUNT / 2; ++k) {
            const double angle = -2 * 3.14159265358979323846 * (double)k / FFT_COUNT;
            roots[k] = (struct complex_number){cos(angle), sin(angle)};
        }
    }
    unsigned long state = 5;
    for (long i = 0; i < FFT_COUNT; ++i) {
        fft_input[i] = (struct complex_number){next_real(&state) - 0.5, next_real(&state) - 0.5};
        fft_output[i] = (struct complex_number){0, 0};
    }
}

void fft_join(struct complex_number *to, long count, long begin, long end)
{
    const long half = count / 2, step = FFT_COUNT / count;
    for (long k = begin; k < end; ++k) {
        const struct complex_number even = to[k], odd = times(roots[k * step], to[k + half]);
        to[k] = (struct complex_number){even.re + odd.re, even.im + odd.im};
        to[k + half] = (struct complex_number){even.re - odd.re, even.im - odd.im};
    }
}

void fft_leaf(const struct complex_number *from, struct complex_number *to, long count, long stride)
{
    if (count == 1) {
        to[0] = from[0];
        return;
    }
    fft_leaf(from, to, count / 2, 2 * stride);
    fft_leaf(from + stride, to + count / 2, count / 2, 2 * stride);
    fft_join(to, count, 0, count / 2);
}

/* One element of the transform by its definition. */
static struct complex_number directly(long bin)
{
    struct complex_number sum = {0, 0};
    for (long i = 0; i < FFT_COUNT; ++i) {
        const long turn = i * bin % FFT_COUNT;
        struct complex_number root = roots[turn % (FFT_COUNT / 2)];
        if (turn >= FFT_COUNT / 2)
            root = (struct complex_number){-root.re, -root.im};
        const struct complex_number term = times(fft_input[i], root);
        sum = (struct complex_number){sum.re + term.re, sum.im + term.im};
    }
    return sum;
}

/* Some elements by the definition, and Parseval's theorem for all of them. */
const char *fft_check(void)
{
    double in = 0, out = 0;
    for (long i = 0; i < FFT_COUNT; ++i) {
        in += fft_input[i].re * fft_input[i].re + fft_input[i].im * fft_input[i].im;
        out += fft_output[i].re * fft_output[i].re + fft_output[i].im * fft_output[i].im;
    }
    if (!(fabs(out / FFT_COUNT - in) < 1e-9 * in))
        return "energy is not kept";
    unsigned long state = 6;
    for (int i = 0; i < BINS; ++i) {
        const long bin = (long)(next_random(&state) % FFT_COUNT);
        const struct complex_number right = directly(bin), is = fft_output[bin];
        if (!(fabs(right.re - is.re) + fabs(right.im - is.im) < 1e-6))
            return "an element differs from its definition";
    }
    return NULL;
}
