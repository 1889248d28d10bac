/* Kernels that are launched by the driver's own calls, beside those of target regions. For a GPU:
 *
 *     clang --target=nvptx64-nvidia-cuda -march=sm_70 -O2 -nogpulib -S kernels.c -o kernels.ptx
 *
 * For the driver for tests: a shared object, where one thread does everything. */
#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel))
static long me(void)
{
    return (long)__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
           __nvvm_read_ptx_sreg_tid_x();
}
static long all(void)
{
    return (long)__nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}
#else
#define KERNEL __attribute__((visibility("default")))
static long me(void)
{
    return 0;
}
static long all(void)
{
    return 1;
}
#endif

/* As good as empty, but whether it ran, and behind which others, can be reported. */
KERNEL void bench_step(unsigned long *cell, unsigned long number)
{
    if (me() == 0)
        *cell = *cell * 3 + number;
}

/* c = a * b, or c += a * b: blocks of n rows. */
KERNEL void bench_gemm(double *c, const double *a, const double *b, long n, long is_first)
{
    for (long at = me(); at < n * n; at += all()) {
        long row = at / n, column = at % n;
        double sum = is_first ? 0 : c[at];
        for (long k = 0; k < n; k++)
            sum += a[row * n + k] * b[k * n + column];
        c[at] = sum;
    }
}
