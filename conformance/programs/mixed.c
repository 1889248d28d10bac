#define _GNU_SOURCE /* RTLD_DEFAULT */
/* One process, a library built by gcc and one built by clang, each called in the other's parallel regions.
   Argument: rounds. Under their own runtimes these are two pools of threads that know nothing of each other,
   and LLVM's sometimes aborts in it (kmp_alloc.cpp); the reference is the same program with both libraries
   built by gcc. Under Gangway there is one: this program ends with an error when more kernel threads exist
   than one pool explains. */
#include "mixed_region.h"
#include "runtime_used.h"
#include <dlfcn.h>
#include <limits.h>
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>

/* Of ompx.h, whose functions are not there under other runtimes: the counters used here, by their places. */
enum { HAND_OFFS = 9, DONORS = 11, WORKERS = 13, KNOWN = 14 };
typedef size_t get_counters(uint64_t *out, size_t size);

/* Most kernel threads that one pool explains: the program's own, one worker for each further processor,
   stand-ins for blocked workers, parked donors of thread-local storage, and the watcher. */
static long one_pool(get_counters *counters)
{
    uint64_t seen[KNOWN] = {0};
    if (!counters)
        return LONG_MAX;
    counters(seen, sizeof seen);
    return omp_get_num_procs() + (long)(seen[HAND_OFFS] + seen[DONORS]) + 1;
}

static int check(const char *what, struct mixed_result r, long most)
{
    printf("%s sum %ld wrong %ld\n", what, r.sum, r.wrong);
    if (r.workers > most)
        fprintf(stderr, "%s: %ld kernel threads, one pool has at most %ld\n", what, r.workers, most);
    return r.wrong != 0 || r.workers > most;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 10, threads = omp_get_max_threads(), bad = 0;
    get_counters *counters = (get_counters *)dlsym(RTLD_DEFAULT, "ompx_get_counters");
    report_runtime();
    omp_set_max_active_levels(2);
    for (int turn = 0; turn < 3; turn++) {
        struct mixed_result gcc = by_gcc_outer(threads, rounds, by_clang_inner);
        bad |= check("clang inside gcc", gcc, one_pool(counters));
        struct mixed_result clang = by_clang_outer(threads, rounds, by_gcc_inner);
        bad |= check("gcc inside clang", clang, one_pool(counters));
    }
    return bad;
}
