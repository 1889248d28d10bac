// Why the core type: OpenBLAS 0.3.21 takes AMD processors with AVX-512 for ones without, and is a third
// slower then.
#include "blas_environment.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace {

bool has_avx512()
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

/// Sets a variable that has no value; true if it did.
bool set_if_missing(const char *name, const char *value)
{
    if (std::getenv(name) != nullptr)
        return false;
    setenv(name, value, 0);
    return true;
}

} // namespace

void prepare_blas(char **argv)
{
    bool changed = set_if_missing("OPENBLAS_NUM_THREADS", "1");
    if (has_avx512() && set_if_missing("OPENBLAS_CORETYPE", "SkylakeX"))
        changed = true;
    if (changed) {
        execv("/proc/self/exe", argv);
        std::perror("factorize: cannot start again with OpenBLAS's variables set");
        std::exit(2);
    }
}
