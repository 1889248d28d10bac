// what: the entry points that hand out a loop's iterations, with counts, bounds, strides and chunks at the ends of their types, by chance
// ours: names of both runtimes in one program; the others take wrapped strides and chunks on trust
// compilers: gcc,clang>=19
// threads: 1,3,8
// mode: link
// timeout: 60
// Each loop is described in wide arithmetic first: `trip` iterations from `lower` in steps of `step`. Then a team asks for it, in the way that
// compiled code does, and what all threads were given has to be every iteration once. ENTRY_POINTS_SECONDS=600 goes on for that long,
// ENTRY_POINTS_SEED=N begins elsewhere; a mismatch prints the seed that makes it again.
#include "check.h"
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
typedef __int128 wide;
typedef unsigned long long ull;
#define MOST 20000

struct piece {
    wide first, count;
};
static struct piece pieces[MOST];
static int used, lost;

static struct loop {
    wide lower, upper, step, trip;
    wide chunk;
    int how, type;
} now;

static ull state;
static ull chance(void)
{
    state += 0x9e3779b97f4a7c15u;
    ull z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static const wide least[4] = {INT32_MIN, 0, INT64_MIN, 0}, most[4] = {INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
static const wide most_step[4] = {INT32_MAX, INT32_MAX, INT64_MAX, INT64_MAX};

static ull seed_of_now;
static void tell(void)
{
    fprintf(stderr, "seed %llu: way %d, type %d, from %lld to %lld step %lld, %llu iterations, chunk %lld: %d pieces\n", seed_of_now, now.how, now.type,
        (long long)now.lower, (long long)now.upper, (long long)now.step, (ull)now.trip, (long long)now.chunk, used);
    for (int i = 0; i < used && i < 5; i++)
        fprintf(stderr, "  %lld + %lld\n", (long long)pieces[i].first, (long long)pieces[i].count);
}

/* What the loop's variable was given as, and how many times. */
static void got(wide from, wide count)
{
    wide offset = from - now.lower;
    int at = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED);
    if (at == MOST) {
        fprintf(stderr, "the pieces do not end\n");
        tell();
        exit(1);
    }
    if (at > MOST || offset % now.step)
        __atomic_store_n(&lost, 1, __ATOMIC_RELAXED);
    else
        pieces[at] = (struct piece){offset / now.step, count};
}

/* As `got`, for bounds that both belong to it; an empty piece is nobody's. */
static void got_range(wide from, wide to)
{
    wide count = now.step > 0 ? (to - from) / now.step + 1 : (from - to) / -now.step + 1;
    if (now.step > 0 ? from > to : from < to)
        return;
    got(from, count);
}

static int before(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static int all_once(void)
{
    if (lost || used > MOST)
        return 0;
    qsort(pieces, (size_t)used, sizeof pieces[0], before);
    wide next = 0;
    for (int i = 0; i < used; i++) {
        if (pieces[i].first != next || pieces[i].count <= 0)
            return 0;
        next += pieces[i].count;
    }
    return next == now.trip;
}

#define KMPC(T, S, suffix) \
    void __kmpc_for_static_init_##suffix(void *, int, int, int *, T *, T *, S *, S, S); \
    void __kmpc_dispatch_init_##suffix(void *, int, int, T, T, S, S); \
    int __kmpc_dispatch_next_##suffix(void *, int, int *, T *, T *, S *); \
    static void plain_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_for_static_init_##suffix(0, thread, 34, &last, &lower, &upper, &stride, (S)now.step, (S)now.chunk); \
        got_range(lower, now.step > 0 ? (upper < (T)now.upper ? upper : (T)now.upper) : upper > (T)now.upper ? upper : (T)now.upper); \
        __kmpc_for_static_fini(0, thread); \
    } \
    static void chunked_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_for_static_init_##suffix(0, thread, 33, &last, &lower, &upper, &stride, (S)now.step, (S)now.chunk); \
        for (;; lower = (T)((ull)lower + (ull)stride), upper = (T)((ull)upper + (ull)stride)) { \
            if (upper > (T)now.upper) \
                upper = (T)now.upper; \
            if (lower > upper) \
                break; \
            got_range(lower, upper); \
        } \
        __kmpc_for_static_fini(0, thread); \
    } \
    static void dispatched_##suffix(int thread, int schedule) \
    { \
        T lower, upper; \
        S step; \
        int last; \
        __kmpc_dispatch_init_##suffix(0, thread, schedule, (T)now.lower, (T)now.upper, (S)now.step, (S)now.chunk); \
        while (__kmpc_dispatch_next_##suffix(0, thread, &last, &lower, &upper, &step)) \
            got_range(lower, upper); \
    }
void __kmpc_for_static_fini(void *, int);
int __kmpc_global_thread_num(void *);
KMPC(int32_t, int32_t, 4)
KMPC(uint32_t, int32_t, 4u)
KMPC(int64_t, int64_t, 8)
KMPC(uint64_t, int64_t, 8u)

#define GOMP(kind) \
    _Bool GOMP_loop_##kind##_start(long, long, long, long, long *, long *); \
    _Bool GOMP_loop_##kind##_next(long *, long *); \
    _Bool GOMP_loop_ull_##kind##_start(_Bool, ull, ull, ull, ull, ull *, ull *); \
    _Bool GOMP_loop_ull_##kind##_next(ull *, ull *); \
    static void gomp_##kind(void) \
    { \
        long from, to; \
        wide one = now.step > 0 ? 1 : -1; \
        if (GOMP_loop_##kind##_start((long)now.lower, (long)(now.upper + one), (long)now.step, (long)now.chunk, &from, &to)) \
            do \
                got_range(from, (wide)to - one); \
            while (GOMP_loop_##kind##_next(&from, &to)); \
        GOMP_loop_end_nowait(); \
    } \
    static void gomp_ull_##kind(void) \
    { \
        ull from, to; \
        wide one = now.step > 0 ? 1 : -1; \
        if (GOMP_loop_ull_##kind##_start(now.step > 0, (ull)now.lower, (ull)(now.upper + one), (ull)now.step, (ull)now.chunk, &from, &to)) \
            do \
                got_range(from, (wide)to - one); \
            while (GOMP_loop_ull_##kind##_next(&from, &to)); \
        GOMP_loop_end_nowait(); \
    }
void GOMP_loop_end_nowait(void);
GOMP(static)
GOMP(dynamic)
GOMP(guided)
GOMP(nonmonotonic_dynamic)
GOMP(nonmonotonic_guided)

/* 0 and 1: static, 2..8: dispatched, 9..13: gcc's. */
#define WAYS 14
static void ask(void)
{
    static const int schedules[7] = {33, 34, 35, 36, 39, 44, 35 | 1 << 30};
    int thread = __kmpc_global_thread_num(0);
    if (now.how < 2) {
        void (*plain[2][4])(int) = {{plain_4, plain_4u, plain_8, plain_8u}, {chunked_4, chunked_4u, chunked_8, chunked_8u}};
        plain[now.how][now.type](thread);
    } else if (now.how < 9) {
        void (*dispatched[4])(int, int) = {dispatched_4, dispatched_4u, dispatched_8, dispatched_8u};
        dispatched[now.type](thread, schedules[now.how - 2]);
    } else {
        void (*gomp[2][5])(void) = {
            {gomp_static, gomp_dynamic, gomp_guided, gomp_nonmonotonic_dynamic, gomp_nonmonotonic_guided},
            {gomp_ull_static, gomp_ull_dynamic, gomp_ull_guided, gomp_ull_nonmonotonic_dynamic, gomp_ull_nonmonotonic_guided}};
        gomp[now.type == 3][now.how - 9]();
    }
}

static wide value(wide from, wide to)
{
    wide near[6] = {0, 1, -1, from, to, from + (to - from) / 2};
    wide v = near[chance() % 6];
    switch (chance() % 4) {
    case 0: v += (wide)(chance() % 9) - 4; break;
    case 1: v += (wide)(chance() % 2001) - 1000; break;
    case 2: v = from + (wide)(((unsigned __int128)chance() << 3) % (unsigned __int128)(to - from + 1)); break;
    }
    return v < from ? from : v > to ? to : v;
}

/* A loop by chance. One of so many iterations that its pieces could not be kept gets larger chunks. */
static void invent(void)
{
    now.how = (int)(chance() % WAYS);
    now.type = now.how < 9 ? (int)(chance() % 4) : 2 + (int)(chance() % 2);
    wide from = least[now.type], to = most[now.type];
    do
        now.step = value(-most_step[now.type], most_step[now.type]);
    while (now.step == 0);
    now.lower = value(from, to);
    now.upper = value(from, to);
    if (chance() % 2) {
        wide upper = now.lower + now.step * (wide)(chance() % 300) + (now.step > 0 ? 1 : -1) * (wide)(chance() % 5);
        now.upper = upper < from ? from : upper > to ? to : upper;
    }
    if (now.how == 1) { /* as clang counts the iterations of such loops */
        now.lower = 0;
        now.step = 1;
        now.upper = now.upper < 0 ? -1 - now.upper : now.upper;
        now.upper -= now.upper == to;
        now.upper -= now.type % 2 == 0 && chance() % 4 == 0 ? now.upper + 1 : 0;
    }
    wide distance = now.step > 0 ? now.upper - now.lower : now.lower - now.upper;
    wide size = now.step > 0 ? now.step : -now.step;
    now.trip = distance < 0 ? 0 : distance / size + 1;
    now.chunk = value(now.type == 3 && now.how >= 9 ? 0 : -most_step[now.type], most_step[now.type]);
    if (now.trip > 2000 && now.chunk < now.trip / 1000 + 1)
        now.chunk = now.trip / 1000 + 1;
}

/* Whether a compiler could have made it: its count fits, an end beyond the last iteration does, and its chunk's type holds the chunk. */
static int is_possible(void)
{
    wide one = now.step > 0 ? 1 : -1;
    int ends = now.how < 9 || (now.upper + one >= least[now.type] && now.upper + one <= most[now.type]);
    wide counted = now.type < 2 ? UINT32_MAX : UINT64_MAX;
    /* Of several chunks the last may end so near to the type's end that nothing can be added: compilers have to take a wider type. */
    wide all = (now.chunk < 1 ? 1 : now.chunk) * omp_get_max_threads();
    int fits = now.how != 1 || all >= now.trip || now.upper + all <= most[now.type];
    return fits && ends && now.trip <= counted && now.chunk <= most_step[now.type];
}

int main(void)
{
    const char *given = getenv("ENTRY_POINTS_SECONDS"), *seed = getenv("ENTRY_POINTS_SEED");
    time_t end = time(0) + (given ? atol(given) : 0);
    long loops = 0;
    for (ull from = seed ? strtoull(seed, 0, 10) : 1; loops < 3000 || time(0) < end; from++) {
        state = seed_of_now = from;
        invent();
        if (!is_possible())
            continue;
        used = lost = 0;
#pragma omp parallel
        ask();
        loops++;
        int right = all_once();
        CHECK(right);
        if (!right) {
            tell();
            if (check_failed > 20)
                return 1;
        }
    }
    if (given)
        printf("%ld loops\n", loops);
    return check_result();
}
