// what: threadprivate through the runtime's cache instead of thread-local storage
// compilers: clang
// flags: clang -fnoopenmp-use-tls
#include "check.h"
static int counter = 3;
static struct {
    char c[100];
} block;
#pragma omp threadprivate(counter, block)
int main(void)
{
    int n = omp_get_max_threads(), sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
        CHECK_EQ(counter, 3);
        counter += omp_get_thread_num();
        memset(&block, omp_get_thread_num() + 1, sizeof block);
    }
#pragma omp parallel reduction(+ : sum)
    {
        CHECK_EQ(counter, 3 + omp_get_thread_num());
        CHECK_EQ(block.c[99], omp_get_thread_num() + 1);
        sum += counter;
    }
    CHECK_EQ(sum, 3 * n + n * (n - 1) / 2);
    counter = 50;
#pragma omp parallel copyin(counter)
    CHECK_EQ(counter, 50);
    return check_result();
}
