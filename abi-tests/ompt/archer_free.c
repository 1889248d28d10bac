// what: a program without races under ThreadSanitizer and libarcher: none is reported
// ours: libgomp has no interface for tools; libomp comes with libarcher
// compilers: clang>=19
// threads: 2,4,8
// mode: symlink
// env: OMP_TOOL_LIBRARIES=/usr/lib/llvm-19/lib/libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1
// flags: clang -fsanitize=thread -g
// timeout: 60
#include "check.h"

enum { N = 1000, ROUNDS = 10 };
static int a[N], sum, count, locked, chain[3], parts[3];
static omp_lock_t lock;

static long fib(int n)
{
    long x, y;
    if (n < 2)
        return n;
#pragma omp task shared(x)
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

/* Not inlined: clang would read both before it looks which section it is. */
__attribute__((noinline)) static void add(int *to)
{
    ++*to;
}

static void round_of(int r)
{
    long f = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < N; i++)
            a[i] = i + r;
#pragma omp for reduction(+ : sum) schedule(dynamic, 7)
        for (int i = 0; i < N; i++)
            sum += a[N - 1 - i];
#pragma omp critical
        count++;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
#pragma omp barrier
#pragma omp single
        {
#pragma omp taskgroup
            {
#pragma omp task depend(out : chain[0])
                chain[0] = count;
#pragma omp task depend(in : chain[0]) depend(out : chain[1])
                chain[1] = chain[0] + 1;
#pragma omp task depend(in : chain[1])
                chain[2] = chain[1] + 1;
            }
            f = fib(7) + chain[2];
        }
#pragma omp sections
        {
#pragma omp section
            add(&parts[0]);
#pragma omp section
            add(&parts[1]);
        }
#pragma omp parallel num_threads(2)
        {
#pragma omp atomic
            parts[2]++;
        }
    }
    CHECK_EQ(f, 13 + count + 2);
}

int main(void)
{
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
    for (int r = 0; r < ROUNDS; r++)
        round_of(r);
    CHECK_EQ(count + locked, 2 * ROUNDS * omp_get_max_threads());
    return check_result();
}
