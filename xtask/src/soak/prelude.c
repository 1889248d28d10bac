#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <pthread.h>
#ifndef __clang__
// libgomp 12 declares these two and has no such symbols.
#define omp_init_lock_with_hint(lock, hint) omp_init_lock(lock)
#define omp_init_nest_lock_with_hint(lock, hint) omp_init_nest_lock(lock)
#endif
typedef uint64_t U;
static int wrong;
static U mix(U x) { x ^= x >> 31; x *= 0x9E3779B97F4A7C15u; return x ^ (x >> 29); }
static void work(int n) { volatile U x = 1; for (int i = 0; i < n; i++) x = mix(x); }
static void same(const char *block, const char *what, U got, U want) {
    if (got != want) {
        fprintf(stderr, "%s: %s is %llx, not %llx\n", block, what, (unsigned long long)got, (unsigned long long)want);
        wrong++;
    }
}
typedef struct { U a, b; } Pair;
static void join(Pair *out, Pair *in) { out->a += in->a; out->b ^= in->b; }
#pragma omp declare reduction(pair : Pair : join(&omp_out, &omp_in)) initializer(omp_priv = (Pair){0, 0})
static U mine;
#pragma omp threadprivate(mine)
static void *fulfil(void *event) { work(200); omp_fulfill_event((omp_event_handle_t)(uintptr_t)event); return 0; }
