/* Programs by chance of regions whose device is the runtime's choice, regions on named devices, tasks of the
 * host, and what the host does itself, beside a plain
 * model: operations in the order in which they are made. `depend` says who has to wait, nothing else. */
#ifndef COHERENCE_H
#define COHERENCE_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"

#define ANY 0x40000000
/* Tiles lie side by side, so that some regions map two of them at once. */
enum { TILES = 6, LENGTH = 1200, FEW = 40 };
typedef uint64_t tile_t[LENGTH];

static tile_t *data, model[TILES]; /* on the heap: static storage is every device's own for gcc */
static uint64_t fixed[2][LENGTH], fixed_model[2][LENGTH];
static int is_fixed_ours = 1; /* no other process that runs main has devices in common */
static uint64_t *room;        /* two tiles that nobody looks at */

static uint32_t chance_state;
static unsigned chance(unsigned below)
{
    chance_state ^= chance_state << 13;
    chance_state ^= chance_state >> 17;
    chance_state ^= chance_state << 5;
    return chance_state % below;
}

#pragma omp declare target
static void mix(uint64_t *to, const uint64_t *from, uint64_t by, int length)
{
    for (int i = 0; i < length; i++)
        to[i] = to[i] * 3 + from[i] + by + i;
}

static void set(uint64_t *to, const uint64_t *from, uint64_t by, int length)
{
    for (int i = 0; i < length; i++)
        to[i] = from[i] * 5 + by;
}
#pragma omp end declare target

/* Regions of which the runtime chooses the device. */
static void any_mix(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(inout : to[0]) depend(in : from[0]) \
    map(tofrom : to[0 : LENGTH]) map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to, from, by, LENGTH);
}

static void any_set(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(out : to[0]) depend(in : from[0]) map(from : to[0 : LENGTH]) \
    map(to : from[0 : LENGTH]) firstprivate(by)
    set(to, from, by, LENGTH);
}

static void any_pair(uint64_t *both, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(inout : both[0], both[LENGTH]) \
    map(tofrom : both[0 : 2 * LENGTH]) firstprivate(by)
    mix(both, both + LENGTH, by, LENGTH);
}

static void any_few(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(inout : to[0]) depend(in : from[0]) map(tofrom : to[10 : FEW]) \
    map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to + 10, from, by, FEW);
}

static void any_scratch(uint64_t *to, uint64_t *scratch, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(inout : to[0], scratch[0]) map(tofrom : to[0 : LENGTH]) \
    map(alloc : scratch[0 : LENGTH]) firstprivate(by)
    {
        set(scratch, to, by, LENGTH);
        mix(to, scratch, by, LENGTH);
    }
}

static void any_fixed(uint64_t *to, int which, uint64_t by)
{
    uint64_t *own = fixed[which];
#pragma omp target nowait device(ANY) depend(inout : to[0]) depend(inout : own[0]) \
    map(tofrom : to[0 : LENGTH], own[0 : LENGTH]) firstprivate(by)
    {
        mix(own, to, by, LENGTH);
        mix(to, own, by, LENGTH);
    }
}

static void any_together(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(mutexinoutset : to[0]) depend(in : from[0]) \
    map(tofrom : to[0 : LENGTH]) map(to : from[0 : LENGTH]) firstprivate(by)
    for (int i = 0; i < LENGTH; i++)
        to[i] += from[i] * by; /* in any order with others of its kind */
}

static void any_waits(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target device(ANY) depend(inout : to[0]) depend(in : from[0]) map(tofrom : to[0 : LENGTH]) \
    map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to, from, by, LENGTH);
    CHECK_EQ(to[0], model[(to - data[0]) / LENGTH][0]);
}

/* Others. */
static void on_host(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp target nowait device(ANY) if (by == 0) depend(inout : to[0]) depend(in : from[0]) \
    map(tofrom : to[0 : LENGTH]) map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to, from, by, LENGTH);
}

static void named(uint64_t *to, uint64_t *from, uint64_t by)
{
    int device = omp_get_num_devices() > 0 ? (int)(by % omp_get_num_devices()) : 0;
#pragma omp target nowait device(device) depend(inout : to[0]) depend(in : from[0]) \
    map(tofrom : to[0 : LENGTH]) map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to, from, by, LENGTH);
}

static void stays(uint64_t *to, uint64_t *from, uint64_t by)
{
    int device = omp_get_num_devices() > 0 ? (int)(by % omp_get_num_devices()) : 0;
#pragma omp target enter data nowait device(device) depend(inout : to[0]) map(to : to[0 : LENGTH])
#pragma omp target nowait device(device) depend(inout : to[0]) depend(in : from[0]) \
    map(tofrom : to[0 : LENGTH]) map(to : from[0 : LENGTH]) firstprivate(by)
    mix(to, from, by, LENGTH);
#pragma omp target exit data nowait device(device) depend(inout : to[0]) map(from : to[0 : LENGTH])
}

static void task(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp task depend(inout : to[0]) depend(in : from[0]) firstprivate(by)
    mix(to, from, by, LENGTH);
}

static void task_at_once(uint64_t *to, uint64_t *from, uint64_t by)
{
#pragma omp task if (0) depend(inout : to[0]) depend(in : from[0]) firstprivate(by)
    mix(to, from, by, LENGTH);
}

/* By way of a tile that does not concern the task: what is before the tile's region is before the task. */
static void task_behind(uint64_t *to, uint64_t *from, uint64_t *sign, uint64_t by)
{
#pragma omp target nowait device(ANY) depend(in : to[0], from[0]) depend(out : sign[0]) \
    map(to : from[0 : LENGTH]) map(from : sign[0 : LENGTH]) firstprivate(by)
    set(sign, from, by, LENGTH);
    uint64_t *want = malloc(sizeof(tile_t));
    memcpy(want, model[(from - data[0]) / LENGTH], sizeof(tile_t));
#pragma omp task depend(inout : sign[0]) depend(in : from[0]) firstprivate(from, want)
    {
        CHECK_EQ(memcmp(from, want, sizeof(tile_t)), 0);
        free(want);
    }
}

static void equal(const char *where)
{
    for (int t = 0; t < TILES; t++) {
        int at = 0;
        while (at < LENGTH && data[t][at] == model[t][at])
            at++;
        if (at < LENGTH)
            fprintf(stderr, "%s: tile %d is wrong from element %d on\n", where, t, at);
        CHECK_EQ(at, LENGTH);
    }
}

/* The host looks at all, and changes some. */
static void look(const char *where)
{
    equal(where);
    for (int t = 0; t < TILES; t++)
        if (chance(3) == 0) {
            mix(data[t], data[t], t, LENGTH);
            mix(model[t], model[t], t, LENGTH);
        }
}

static void one(void)
{
    unsigned t = chance(TILES), f = (t + 1 + chance(TILES - 1)) % TILES;
    uint64_t by = 1 + chance(1000), *to = data[t], *from = data[f], *want = model[t], *with = model[f];
    switch (chance(17)) {
    case 0:
    case 1:
    case 2: any_mix(to, from, by); break;
    case 3:
        any_set(to, from, by);
        set(want, with, by, LENGTH);
        return;
    case 4:
        if (t + 1 == TILES)
            return;
        any_pair(to, by);
        mix(want, model[t + 1], by, LENGTH);
        return;
    case 5:
        any_few(to, from, by);
        mix(want + 10, with, by, FEW);
        return;
    case 6: {
        static uint64_t scratch[LENGTH];
        any_scratch(to, room, by);
        set(scratch, want, by, LENGTH);
        mix(want, scratch, by, LENGTH);
        return;
    }
    case 7:
        any_together(to, from, by);
        any_together(to, data[(f + 1) % TILES == t ? f : (f + 1) % TILES], by);
        for (int i = 0; i < LENGTH; i++)
            want[i] += (with[i] + model[(f + 1) % TILES == t ? f : (f + 1) % TILES][i]) * by;
        return;
    case 8:
        mix(want, with, by, LENGTH);
        any_waits(to, from, by);
        return;
    case 9: on_host(to, from, by); break;
    case 10: named(to, from, by); break;
    case 11: stays(to, from, by); break;
    case 12: task(to, from, by); break;
    case 13: task_at_once(to, from, by); break;
    case 15: {
        int which = chance(2);
        if (!is_fixed_ours)
            return;
        any_fixed(to, which, by);
        mix(fixed_model[which], want, by, LENGTH);
        mix(want, fixed_model[which], by, LENGTH);
        return;
    }
    case 14: task_behind(to, from, room + LENGTH, by); return;
    default: {
#pragma omp taskwait depend(in : from[0])
        CHECK_EQ(memcmp(from, with, sizeof(tile_t)), 0);
        return;
    }
    }
    mix(want, with, by, LENGTH);
}

/* A program, by this number, from a thread. */
static void program(uint32_t seed, int operations)
{
    chance_state = seed * 2654435761u + 1;
    for (int i = 0; i < operations; i++) {
        one();
        if (chance(12) == 0) {
#pragma omp taskwait
            look("taskwait");
        } else if (chance(20) == 0) {
#pragma omp taskgroup
            for (int j = 0; j < 3; j++)
                one();
        }
    }
}

/* Several, from a thread that is alone and from one of a team. */
static void programs(int count, int operations)
{
    data = malloc(TILES * sizeof(tile_t));
    room = malloc(2 * sizeof(tile_t));
    for (int t = 0; t < TILES; t++)
        for (int i = 0; i < LENGTH; i++)
            data[t][i] = model[t][i] = (uint64_t)t << 32 | i;
    for (int seed = 1; seed <= count; seed++) {
        if (seed % 3 == 0) {
            program(seed, operations);
#pragma omp taskwait
            look("taskwait, alone");
        } else {
#pragma omp parallel
            {
#pragma omp single
                program(seed, operations);
                if (seed % 2 == 0) {
#pragma omp single
                    look("barrier");
                }
            }
            look("end of parallel");
        }
    }
    free(data);
    free(room);
}

/* Each thread has a chain of its own, looks at it now and then, and reads what all of them read and one
 * changes between two barriers. */
static void by_threads(int rounds)
{
    uint64_t *shared = malloc(sizeof(tile_t));
    for (int i = 0; i < LENGTH; i++)
        shared[i] = i;
#pragma omp parallel
    {
        uint64_t *mine = calloc(LENGTH, sizeof *mine), *want = calloc(LENGTH, sizeof *want);
        for (int round = 0; round < rounds; round++) {
            for (int step = 0; step < 6; step++) {
                uint64_t by = step + round + omp_get_thread_num();
                if ((step + round) % 5 == 4) {
#pragma omp task depend(inout : mine[0]) firstprivate(mine, by) shared(shared)
                    set(mine, shared, by, LENGTH);
                    set(want, shared, by, LENGTH);
                } else {
#pragma omp target nowait device(ANY) depend(inout : mine[0]) map(tofrom : mine[0 : LENGTH]) \
    map(to : shared[0 : LENGTH]) firstprivate(by)
                    mix(mine, shared, by, LENGTH);
                    mix(want, shared, by, LENGTH);
                }
                if ((step * 7 + round) % 4 == omp_get_thread_num() % 4) {
#pragma omp taskwait
                    CHECK_EQ(memcmp(mine, want, sizeof(tile_t)), 0);
                    mine[step] = want[step] = by;
                }
            }
#pragma omp barrier
            CHECK_EQ(memcmp(mine, want, sizeof(tile_t)), 0);
#pragma omp single
            mix(shared, shared, round, LENGTH);
        }
        free(mine);
        free(want);
    }
    free(shared);
}
#endif
