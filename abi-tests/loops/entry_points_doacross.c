// what: the entry points of doacross loops and of sections, with counts, bounds and strides at the ends of their types, and empty nests of enormous dimensions, by chance
// ours: names of both runtimes in one program; the others do not look whether an iteration exists that is waited for
// compilers: gcc,clang>=19
// threads: 1,3,8
// mode: link
// timeout: 60
// Each iteration waits for the one before it in the first dimension and for one beside that, looks whether
// they are over, and posts. All have to be done once. Some waits are for iterations that no loop has: they
// return at once.
#include "loops_by_chance.h"
int __kmpc_global_thread_num(void *);
struct dimension {
    int64_t lower, upper, step;
};
void __kmpc_doacross_init(void *, int, int, const struct dimension *);
void __kmpc_doacross_wait(void *, int, const int64_t *);
void __kmpc_doacross_post(void *, int, const int64_t *);
void __kmpc_doacross_fini(void *, int);
void __kmpc_dispatch_init_8(void *, int, int, int64_t, int64_t, int64_t, int64_t);
int __kmpc_dispatch_next_8(void *, int, int *, int64_t *, int64_t *, int64_t *);
#define STARTS(name) \
    _Bool GOMP_loop_doacross_##name##_start(unsigned, long *, long, long *, long *); \
    _Bool GOMP_loop_ull_doacross_##name##_start(unsigned, ull *, ull, ull *, ull *);
STARTS(static)
STARTS(dynamic)
STARTS(guided)
_Bool GOMP_loop_static_next(long *, long *);
_Bool GOMP_loop_dynamic_next(long *, long *);
_Bool GOMP_loop_guided_next(long *, long *);
_Bool GOMP_loop_ull_static_next(ull *, ull *);
_Bool GOMP_loop_ull_dynamic_next(ull *, ull *);
_Bool GOMP_loop_ull_guided_next(ull *, ull *);
void GOMP_doacross_post(long *);
void GOMP_doacross_ull_post(ull *);
void GOMP_doacross_wait(long, ...);
void GOMP_doacross_ull_wait(ull, ...);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_start(unsigned), GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);

/* 0: LLVM's; 1 to 3: gcc's over long, 4 to 6: over unsigned long long; 7: sections. */
enum { WAYS = 8, BITS = 4096 };
static struct dimension nest[2];
static long trips[2], chunk;
static char over[BITS];

static void iteration(long i, long j)
{
    long at = i * trips[1] + j;
    int early = i > 0 && !__atomic_load_n(&over[at - trips[1]], __ATOMIC_ACQUIRE);
    early |= i > 0 && j + 1 < trips[1] && !__atomic_load_n(&over[at - trips[1] + 1], __ATOMIC_ACQUIRE);
    if (early || __atomic_exchange_n(&over[at], 1, __ATOMIC_ACQ_REL))
        __atomic_store_n(&lost, 1, __ATOMIC_RELAXED);
    got(at, 1);
}

static int64_t variable(int dimension, long number)
{
    return (int64_t)((ull)nest[dimension].lower + (ull)number * (ull)nest[dimension].step);
}

static void wait_kmpc(int thread, long i, long j)
{
    int64_t at[2] = {variable(0, i), variable(1, j)};
    __kmpc_doacross_wait(0, thread, at);
}

/* Values that no iteration has: beyond an end of their type, or one step beyond the loop's. */
static void wait_for_none(int thread)
{
    for (int d = 0; d < 2; d++) {
        wide lower = nest[d].lower, step = nest[d].step, beyond = lower + step * trips[d];
        int64_t at[2] = {nest[0].lower, nest[1].lower};
        at[d] = step > 0 ? INT64_MIN : INT64_MAX;
        if (at[d] != nest[d].lower)
            __kmpc_doacross_wait(0, thread, at);
        at[d] = (int64_t)beyond;
        if (beyond >= INT64_MIN && beyond <= INT64_MAX)
            __kmpc_doacross_wait(0, thread, at);
    }
}

static void kmpc(int thread)
{
    static const int schedules[3] = {33, 35, 36};
    int64_t from, to, step;
    int last;
    __kmpc_doacross_init(0, thread, 2, nest);
    __kmpc_dispatch_init_8(0, thread, schedules[now.type], 0, trips[0] - 1, 1, chunk);
    while (__kmpc_dispatch_next_8(0, thread, &last, &from, &to, &step))
        for (int64_t i = from; i <= to; i++)
            for (long j = 0; j < trips[1]; j++) {
                wait_for_none(thread);
                if (i > 0) {
                    wait_kmpc(thread, i - 1, j);
                    if (j + 1 < trips[1])
                        wait_kmpc(thread, i - 1, j + 1);
                }
                iteration(i, j);
                int64_t at[2] = {variable(0, i), variable(1, j)};
                __kmpc_doacross_post(0, thread, at);
            }
    __kmpc_doacross_fini(0, thread);
}

#define GOMP(T, infix, wait_infix) \
    static void gomp##infix(int kind) \
    { \
        T counts[2] = {(T)trips[0], (T)trips[1]}, from, to; \
        _Bool (*start[3])(unsigned, T *, T, T *, T *) = {GOMP_loop##infix##_doacross_static_start, \
                                                         GOMP_loop##infix##_doacross_dynamic_start, \
                                                         GOMP_loop##infix##_doacross_guided_start}; \
        _Bool (*next[3])(T *, T *) = {GOMP_loop##infix##_static_next, GOMP_loop##infix##_dynamic_next, \
                                      GOMP_loop##infix##_guided_next}; \
        if (start[kind](2, counts, (T)chunk, &from, &to)) \
            do \
                for (T i = from; i < to; i++) \
                    for (T j = 0; j < counts[1]; j++) { \
                        GOMP_doacross##wait_infix##_wait((T) - 1, j); \
                        GOMP_doacross##wait_infix##_wait(i, counts[1]); \
                        if (i > 0) { \
                            GOMP_doacross##wait_infix##_wait(i - 1, j); \
                            if (j + 1 < counts[1]) \
                                GOMP_doacross##wait_infix##_wait(i - 1, j + 1); \
                        } \
                        iteration((long)i, (long)j); \
                        T at[2] = {i, j}; \
                        GOMP_doacross##wait_infix##_post(at); \
                    } \
            while (next[kind](&from, &to)); \
        GOMP_loop_end_nowait(); \
    }
GOMP(long, , )
GOMP(ull, _ull, _ull)

static void sections(void)
{
    for (unsigned n = GOMP_sections_start((unsigned)now.trip); n; n = GOMP_sections_next())
        got(n - 1, 1);
    GOMP_sections_end_nowait();
}

static void ask(void)
{
    if (now.how == 0)
        kmpc(__kmpc_global_thread_num(0));
    else if (now.how <= 3)
        gomp(now.how - 1);
    else if (now.how <= 6)
        gomp_ull(now.how - 4);
    else
        sections();
}

/* So many iterations of a loop over 64 bits, anywhere, with any step that fits. */
static int invent_dimension(struct dimension *d, long count)
{
    now.type = 2;
    wide step, lower = value(INT64_MIN, INT64_MAX);
    do
        step = value(-most_step[2], most_step[2]);
    while (step == 0);
    wide upper = count ? lower + step * (count - 1) : lower - (step > 0 ? 1 : -1);
    *d = (struct dimension){(int64_t)lower, (int64_t)upper, (int64_t)step};
    return upper >= INT64_MIN && upper <= INT64_MAX;
}

static int invent(void)
{
    memset(over, 0, sizeof over);
    now.how = (int)(chance() % WAYS);
    now.lower = 0;
    now.step = 1;
    if (now.how == 7) {
        now.trip = (wide)(chance() % (chance() % 8 ? 40 : 3000));
        return 1;
    }
    trips[0] = (long)(chance() % 40);
    trips[1] = (long)(chance() % 30);
    /* An empty nest, whatever its other dimension. */
    if (chance() % 8 == 0) {
        long enormous = chance() % 2 ? LONG_MAX : (long)(chance() >> 1);
        int first = (int)(chance() % 2);
        trips[first] = 0;
        if (now.how > 0 && !first)
            trips[1] = enormous;
    }
    chunk = (long)value(now.how > 3 ? 0 : -most_step[2], most_step[2]);
    if (now.how == 0 && !(invent_dimension(&nest[0], trips[0]) && invent_dimension(&nest[1], trips[1])))
        return 0;
    now.type = (int)(chance() % 3);
    now.chunk = chunk;
    now.trip = trips[0] == 0 ? 0 : (wide)trips[0] * trips[1];
    return 1;
}

static void ask_all(void)
{
#pragma omp parallel
    ask();
}

int main(void)
{
    return by_chance(1500, invent, ask_all);
}
