// what: the entry points that hand out a distributed loop's iterations to teams and to their threads, with counts, bounds, strides and chunks at the ends of their types, by chance
// ours: the others take wrapped strides and chunks on trust
// compilers: gcc,clang>=19
// threads: 1,3
// mode: link
// timeout: 60
// As entry_points.c: what all threads of all teams were given has to be every iteration once.
#include "loops_by_chance.h"

#define KMPC(T, S, suffix) \
    void __kmpc_dist_for_static_init_##suffix(void *, int, int, int *, T *, T *, T *, S *, S, S); \
    void __kmpc_team_static_init_##suffix(void *, int, int *, T *, T *, S *, S, S); \
    void __kmpc_for_static_init_##suffix(void *, int, int, int *, T *, T *, S *, S, S); \
    void __kmpc_dist_dispatch_init_##suffix(void *, int, int, int *, T, T, S, S); \
    int __kmpc_dispatch_next_##suffix(void *, int, int *, T *, T *, S *); \
    static void distributed_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper, of_team = 0; \
        S stride = 0; \
        int last = 0; \
        __kmpc_dist_for_static_init_##suffix(0, thread, 34, &last, &lower, &upper, &of_team, &stride, \
                                             (S)now.step, 1); \
        got_range(lower, now.step > 0      ? (upper < of_team ? upper : of_team) \
                         : upper > of_team ? upper \
                                           : of_team); \
        count_last(last); \
    } \
    static void chunks_of_##suffix(T lower, T upper, S stride, T end) \
    { \
        for (;; lower = (T)((ull)lower + (ull)stride), upper = (T)((ull)upper + (ull)stride)) { \
            if (upper > end) \
                upper = end; \
            if (lower > upper) \
                break; \
            got_range(lower, upper); \
        } \
    } \
    static void distributed_chunks_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper, of_team = 0; \
        S stride = 0; \
        int last = 0; \
        __kmpc_dist_for_static_init_##suffix(0, thread, 33, &last, &lower, &upper, &of_team, &stride, \
                                             (S)now.step, (S)now.chunk); \
        chunks_of_##suffix(lower, upper, stride, of_team); \
        count_last(last); \
    } \
    static void of_teams_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_team_static_init_##suffix(0, thread, &last, &lower, &upper, &stride, (S)now.step, \
                                         (S)now.chunk); \
        chunks_of_##suffix(lower, upper, stride, (T)now.upper); \
    } \
    static void blocks_of_teams_##suffix(int thread) \
    { \
        T lower = (T)now.lower, upper = (T)now.upper; \
        S stride = 0; \
        int last = 0; \
        __kmpc_for_static_init_##suffix(0, thread, 92, &last, &lower, &upper, &stride, (S)now.step, \
                                        (S)now.chunk); \
        got_range(lower, now.step > 0           ? (upper < (T)now.upper ? upper : (T)now.upper) \
                         : upper > (T)now.upper ? upper \
                                                : (T)now.upper); \
        count_last(last); \
    } \
    static void dispatched_##suffix(int thread, int schedule) \
    { \
        T lower, upper; \
        S step; \
        int last = 0, of_team = 0; \
        __kmpc_dist_dispatch_init_##suffix(0, thread, schedule, &of_team, (T)now.lower, (T)now.upper, \
                                           (S)now.step, (S)now.chunk); \
        while (__kmpc_dispatch_next_##suffix(0, thread, &last, &lower, &upper, &step)) { \
            got_range(lower, upper); \
            count_last(last &&of_team); \
        } \
    }
int __kmpc_global_thread_num(void *);

/* Who was told to have the last iteration. */
static int lasts;
static void count_last(int last)
{
    if (last)
        __atomic_fetch_add(&lasts, 1, __ATOMIC_RELAXED);
}
KMPC(int32_t, int32_t, 4)
KMPC(uint32_t, int32_t, 4u)
KMPC(int64_t, int64_t, 8)
KMPC(uint64_t, int64_t, 8u)

/* 0 and 1: each thread's part of its team's block; 2 and 3: each team's part, asked for by its only thread; 4
 * to 8: dispatched. */
#define WAYS 9
static int teams, threads;
static void ask(void)
{
    static const int schedules[5] = {33, 34, 35, 36, 39};
    int thread = __kmpc_global_thread_num(0);
    if (now.how < 4) {
        void (*fixed[4][4])(int) = {
            {distributed_4, distributed_4u, distributed_8, distributed_8u},
            {distributed_chunks_4, distributed_chunks_4u, distributed_chunks_8, distributed_chunks_8u},
            {of_teams_4, of_teams_4u, of_teams_8, of_teams_8u},
            {blocks_of_teams_4, blocks_of_teams_4u, blocks_of_teams_8, blocks_of_teams_8u}};
        fixed[now.how][now.type](thread);
    } else {
        void (*dispatched[4])(int, int) = {dispatched_4, dispatched_4u, dispatched_8, dispatched_8u};
        dispatched[now.type](thread, schedules[now.how - 4]);
    }
}

static int invent(void)
{
    now.how = (int)(chance() % WAYS);
    now.type = (int)(chance() % 4);
    invent_loop();
    if (now.how == 1 || now.how == 2) { /* as clang counts the iterations of such loops */
        now.lower = 0;
        now.step = 1;
        now.upper = now.upper < 0 ? -1 - now.upper : now.upper;
        now.upper -= now.upper == most[now.type];
    }
    count_iterations();
    invent_chunk(-most_step[now.type]);
    teams = 1 + (int)(chance() % 5);
    threads = now.how == 2 || now.how == 3 ? 1 : omp_get_max_threads();
    wide all = (now.chunk < 1 ? 1 : now.chunk) * teams * threads;
    /* As in entry_points.c. */
    int fits = (now.how != 1 && now.how != 2) || all >= now.trip || now.upper + all <= most[now.type];
    return fits && now.trip <= (now.type < 2 ? UINT32_MAX : UINT64_MAX) && now.chunk <= most_step[now.type];
}

static void ask_all(void)
{
    lasts = 0;
#pragma omp teams num_teams(teams)
#pragma omp parallel num_threads(threads)
    ask();
    /* The last iteration is one thread's; of no iterations nobody has it. */
    if (now.how != 2 && lasts != (now.trip > 0)) {
        CHECK_EQ(lasts, now.trip > 0);
        tell();
    }
}

int main(void)
{
    return by_chance(2000, invent, ask_all);
}
