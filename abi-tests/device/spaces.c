// what: LLVM's routines and allocators for memory of host, device and both
// compilers: clang>=19
// offload: yes
// no-gpu: GPUs have no memory that the host reaches yet
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
void *llvm_omp_target_alloc_host(size_t, int);
void *llvm_omp_target_alloc_shared(size_t, int);
void *llvm_omp_target_alloc_device(size_t, int);
void llvm_omp_target_free_host(void *, int);
void llvm_omp_target_free_shared(void *, int);
void llvm_omp_target_free_device(void *, int);
static int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}
int main(void)
{
    enum { N = 64 };
    EACH_DEVICE(d)
    {
        int *h = llvm_omp_target_alloc_host(N * sizeof *h, d), s = 0;
        CHECK(h != 0);
        for (int i = 0; i < N; i++)
            h[i] = 2;
#pragma omp target parallel for device(d) map(tofrom : h[0 : N])
        for (int i = 0; i < N; i++)
            h[i]--;
        CHECK_EQ(sum(h, N), N);
        llvm_omp_target_free_host(h, d);

        int *b = llvm_omp_target_alloc_shared(N * sizeof *b, d);
        CHECK(b != 0);
#pragma omp target parallel for device(d) is_device_ptr(b)
        for (int i = 0; i < N; i++)
            b[i] = i;
        CHECK_EQ(sum(b, N), N * (N - 1) / 2);
        llvm_omp_target_free_shared(b, d);

        omp_set_default_device(d);
        int *a = omp_aligned_alloc(256, N * sizeof *a, llvm_omp_target_device_mem_alloc);
        CHECK(a != 0);
        CHECK_EQ((size_t)a % 256, 0);
#pragma omp target parallel for is_device_ptr(a)
        for (int i = 0; i < N; i++)
            a[i] = 1;
        a = omp_realloc(a, 2 * N * sizeof *a, omp_null_allocator, llvm_omp_target_device_mem_alloc);
#pragma omp target parallel for is_device_ptr(a) reduction(+ : s)
        for (int i = 0; i < N; i++)
            s += a[i];
        CHECK_EQ(s, N);
        int *z = omp_calloc(N, sizeof *z, llvm_omp_target_shared_mem_alloc);
        s = 1;
#pragma omp target parallel for is_device_ptr(z) reduction(+ : s)
        for (int i = 0; i < N; i++)
            s += z[i];
        CHECK_EQ(s, 1);
        CHECK_EQ(sum(z, N), 0);
        omp_free(z, llvm_omp_target_shared_mem_alloc);
        omp_free(a, omp_null_allocator);
    }
    CHECK(llvm_omp_target_alloc_host(8, omp_get_num_devices() + 5) == 0);
    return check_result();
}
