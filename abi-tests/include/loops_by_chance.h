/* Loops by chance for loops/entry_points*.c: each is described in wide arithmetic first, `trip` iterations
 * from `lower` in steps of `step`; what threads were given is collected in pieces, which have to be every
 * iteration once. */
#ifndef LOOPS_BY_CHANCE_H
#define LOOPS_BY_CHANCE_H
#include "check.h"
#include <limits.h>
#include <string.h>
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

static const wide least[4] = {INT32_MIN, 0, INT64_MIN, 0},
                  most[4] = {INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
static const wide most_step[4] = {INT32_MAX, INT32_MAX, INT64_MAX, INT64_MAX};

static ull seed_of_now;
static void tell(void)
{
    fprintf(
        stderr,
        "seed %llu: way %d, type %d, from %lld to %lld step %lld, %llu iterations, chunk %lld: %d pieces\n",
        seed_of_now, now.how, now.type, (long long)now.lower, (long long)now.upper, (long long)now.step,
        (ull)now.trip, (long long)now.chunk, used);
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
__attribute__((unused)) static void got_range(wide from, wide to)
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

/* Bounds and a step of the loop's type; those of so many iterations that pieces could not be kept get larger
 * chunks. */
__attribute__((unused)) static void invent_loop(void)
{
    wide from = least[now.type], to = most[now.type];
    do
        now.step = value(-most_step[now.type], most_step[now.type]);
    while (now.step == 0);
    now.lower = value(from, to);
    now.upper = value(from, to);
    if (chance() % 2) {
        wide upper =
            now.lower + now.step * (wide)(chance() % 300) + (now.step > 0 ? 1 : -1) * (wide)(chance() % 5);
        now.upper = upper < from ? from : upper > to ? to : upper;
    }
}

__attribute__((unused)) static void count_iterations(void)
{
    wide distance = now.step > 0 ? now.upper - now.lower : now.lower - now.upper;
    wide size = now.step > 0 ? now.step : -now.step;
    now.trip = distance < 0 ? 0 : distance / size + 1;
}

__attribute__((unused)) static void invent_chunk(wide from)
{
    now.chunk = value(from, most_step[now.type]);
    if (now.trip > 2000 && now.chunk < now.trip / 1000 + 1)
        now.chunk = now.trip / 1000 + 1;
}

/* Loops until the time or, without one, `usual` of them are over. `invent` says whether a compiler could have
 * made its loop. */
static int by_chance(long usual, int (*invent)(void), void (*ask_all)(void))
{
    const char *given = getenv("ENTRY_POINTS_SECONDS"), *seed = getenv("ENTRY_POINTS_SEED");
    time_t end = time(0) + (given ? atol(given) : 0);
    long loops = 0;
    for (ull from = seed ? strtoull(seed, 0, 10) : 1; loops < usual || time(0) < end; from++) {
        state = seed_of_now = from;
        if (!invent())
            continue;
        used = lost = 0;
        ask_all();
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
#endif
