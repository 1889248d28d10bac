// what: a race under ThreadSanitizer and libarcher: it is reported
// ours: libgomp has no interface for tools; libomp comes with libarcher
// compilers: clang>=19
// threads: 4
// mode: symlink
// env: OMP_TOOL_LIBRARIES=/usr/lib/llvm-19/lib/libarcher.so TSAN_OPTIONS=ignore_noninstrumented_modules=1
// flags: clang -fsanitize=thread -g
// expect-exit: 66
// expect-stderr: WARNING: ThreadSanitizer: data race
// timeout: 60
#include "check.h"

static int shared_sum;

int main(void)
{
    for (int r = 0; r < 20; r++) {
#pragma omp parallel
        shared_sum += omp_get_thread_num();
    }
    CHECK(shared_sum > 0);
    return check_result();
}
