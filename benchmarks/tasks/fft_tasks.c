/* Fast Fourier transform on OpenMP tasks: even and odd elements, then stretches of the butterflies. */
#include "programs.h"

static void join(struct complex_number *to, long count)
{
    for (long begin = 0; begin < count / 2; begin += FFT_CHUNK) {
        const long end = begin + FFT_CHUNK < count / 2 ? begin + FFT_CHUNK : count / 2;
#pragma omp task
        fft_join(to, count, begin, end);
    }
#pragma omp taskwait
}

static void fft(const struct complex_number *from, struct complex_number *to, long count, long stride)
{
    if (count <= FFT_LEAF) {
        fft_leaf(from, to, count, stride);
        return;
    }
#pragma omp task
    fft(from, to, count / 2, 2 * stride);
#pragma omp task
    fft(from + stride, to + count / 2, count / 2, 2 * stride);
#pragma omp taskwait
    if (count / 2 > FFT_CHUNK)
        join(to, count);
    else
        fft_join(to, count, 0, count / 2);
}

static void solve(void)
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    fft(fft_input, fft_output, FFT_COUNT, 1);
}

const struct program fft_program = {"fft", fft_prepare, solve, fft_check};
