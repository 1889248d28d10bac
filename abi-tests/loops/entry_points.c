// what: the entry points that hand out a loop's iterations, with counts, bounds, strides and chunks at the ends of their types, by chance
// ours: names of both runtimes in one program; the others take wrapped strides and chunks on trust
// compilers: gcc,clang>=19
// threads: 1,3,8
// mode: link
// timeout: 60
// Each loop is described in wide arithmetic first: `trip` iterations from `lower` in steps of `step`. Then a
// team asks for it, in the way that compiled code does, and what all threads were given has to be every
// iteration once. ENTRY_POINTS_SECONDS=600 goes on for that long, ENTRY_POINTS_SEED=N begins elsewhere; a
// mismatch prints the seed that makes it again.
#include "loops_by_chance.h"

#define KMPC(T, S, suffix) \
    void __kmpc_for_static_init_##suffix(void *, int, int, int *, T *, T *, S *, S, S); \
    void __kmpc_dispatch_init_##suffix(void *, int, int, T, T, S, S); \
    int __kmpc_dispatch_next_##suffix(void *, int, int *, T *, T *, S *); \
    static void plain_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_for_static_init_##suffix(0, thread, 34, &last, &lower, &upper, &stride, (S)now.step, \
                                        (S)now.chunk); \
        got_range(lower, now.step > 0           ? (upper < (T)now.upper ? upper : (T)now.upper) \
                         : upper > (T)now.upper ? upper \
                                                : (T)now.upper); \
        __kmpc_for_static_fini(0, thread); \
    } \
    static void chunked_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_for_static_init_##suffix(0, thread, 33, &last, &lower, &upper, &stride, (S)now.step, \
                                        (S)now.chunk); \
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
        __kmpc_dispatch_init_##suffix(0, thread, schedule, (T)now.lower, (T)now.upper, (S)now.step, \
                                      (S)now.chunk); \
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
        if (GOMP_loop_##kind##_start((long)now.lower, (long)(now.upper + one), (long)now.step, \
                                     (long)now.chunk, &from, &to)) \
            do \
                got_range(from, (wide)to - one); \
            while (GOMP_loop_##kind##_next(&from, &to)); \
        GOMP_loop_end_nowait(); \
    } \
    static void gomp_ull_##kind(void) \
    { \
        ull from, to; \
        wide one = now.step > 0 ? 1 : -1; \
        if (GOMP_loop_ull_##kind##_start(now.step > 0, (ull)now.lower, (ull)(now.upper + one), \
                                         (ull)now.step, (ull)now.chunk, &from, &to)) \
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
        void (*plain[2][4])(int) = {{plain_4, plain_4u, plain_8, plain_8u},
                                    {chunked_4, chunked_4u, chunked_8, chunked_8u}};
        plain[now.how][now.type](thread);
    } else if (now.how < 9) {
        void (*dispatched[4])(int, int) = {dispatched_4, dispatched_4u, dispatched_8, dispatched_8u};
        dispatched[now.type](thread, schedules[now.how - 2]);
    } else {
        void (*gomp[2][5])(void) = {
            {gomp_static, gomp_dynamic, gomp_guided, gomp_nonmonotonic_dynamic, gomp_nonmonotonic_guided},
            {gomp_ull_static, gomp_ull_dynamic, gomp_ull_guided, gomp_ull_nonmonotonic_dynamic,
             gomp_ull_nonmonotonic_guided}};
        gomp[now.type == 3][now.how - 9]();
    }
}

/* Whether a compiler could have made it: its count fits, an end beyond the last iteration does, and its
 * chunk's type holds the chunk. */
static int is_possible(void)
{
    wide one = now.step > 0 ? 1 : -1;
    int ends = now.how < 9 || (now.upper + one >= least[now.type] && now.upper + one <= most[now.type]);
    wide counted = now.type < 2 ? UINT32_MAX : UINT64_MAX;
    /* Of several chunks the last may end so near to the type's end that nothing can be added: compilers have
     * to take a wider type. */
    wide all = (now.chunk < 1 ? 1 : now.chunk) * omp_get_max_threads();
    int fits = now.how != 1 || all >= now.trip || now.upper + all <= most[now.type];
    return fits && ends && now.trip <= counted && now.chunk <= most_step[now.type];
}

static int invent(void)
{
    now.how = (int)(chance() % WAYS);
    now.type = now.how < 9 ? (int)(chance() % 4) : 2 + (int)(chance() % 2);
    invent_loop();
    if (now.how == 1) { /* as clang counts the iterations of such loops */
        now.lower = 0;
        now.step = 1;
        now.upper = now.upper < 0 ? -1 - now.upper : now.upper;
        now.upper -= now.upper == most[now.type];
        now.upper -= now.type % 2 == 0 && chance() % 4 == 0 ? now.upper + 1 : 0;
    }
    count_iterations();
    invent_chunk(now.type == 3 && now.how >= 9 ? 0 : -most_step[now.type]);
    return is_possible();
}

static void ask_all(void)
{
#pragma omp parallel
    ask();
}

int main(void)
{
    return by_chance(3000, invent, ask_all);
}
