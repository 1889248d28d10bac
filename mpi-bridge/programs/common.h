/* What the programs here share: opening the bridge, waiting, checksums. They are built by a plain C compiler,
 * without MPI. */
#ifndef COMMON_H
#define COMMON_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "gangway_bridge.h"

static const struct gangway_bridge_table *T;
static struct gangway_bridge *B;
static uint32_t me, all;

#define DEMAND(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "rank %u, line %d: not so: %s\n", me, __LINE__, #condition); \
            _exit(3); \
        } \
    } while (0)

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void load(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    const struct gangway_bridge_table *(*get)(uint32_t) =
        (const struct gangway_bridge_table *(*)(uint32_t))dlsym(handle, "gangway_bridge_table");
    DEMAND(get != NULL);
    DEMAND(get(GANGWAY_BRIDGE_ABI + 1000) == NULL);
    T = get(GANGWAY_BRIDGE_ABI);
    DEMAND(T != NULL && T->abi == GANGWAY_BRIDGE_ABI && T->size == sizeof *T);
}

static inline struct gangway_bridge_config usual(void)
{
    const char *mode = getenv("OMPX_PROGRESS");
    struct gangway_bridge_config c = {.size = sizeof c, .thread_level = GANGWAY_BRIDGE_SERIALIZED};
    c.progress = mode && strcmp(mode, "dedicated") == 0 ? GANGWAY_BRIDGE_DEDICATED : GANGWAY_BRIDGE_IDLE;
    return c;
}

/* Starts the bridge; the program ends with status 1 where that fails, as the header asks. */
static inline void start(const struct gangway_bridge_config *config)
{
    int result = T->init(config, &B);
    if (result != GANGWAY_BRIDGE_OK)
        exit(1);
    me = T->rank(B);
    all = T->ranks(B);
}

/* One look, and gives the core away when nothing happens for a while: there may be more ranks than cores. */
static inline void look(void)
{
    static __thread unsigned empty;
    int events = T->progress(B);
    DEMAND(events >= 0);
    if (events > 0)
        empty = 0;
    else if (++empty > 20)
        sched_yield();
}

static inline void send_to(uint32_t to, uint32_t handler, const void *bytes, uint64_t length, uint32_t flags)
{
    struct gangway_bridge_piece piece = {bytes, length};
    int result;
    while ((result = T->send(B, to, handler, &piece, 1, NULL, 0, flags)) == GANGWAY_BRIDGE_BUSY)
        look();
    DEMAND(result == GANGWAY_BRIDGE_OK);
}

static inline uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Fills memory from a seed, and says whether it is so filled. */
static inline void fill(uint64_t *words, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        words[i] = mix(seed + i);
}

static inline int is_filled(const uint64_t *words, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != mix(seed + i))
            return 0;
    return 1;
}

static inline void mark(void *where, int status)
{
    __atomic_store_n((int *)where, 1000 + status, __ATOMIC_RELEASE);
}

static inline int marked(const int *where)
{
    return __atomic_load_n(where, __ATOMIC_ACQUIRE);
}

#endif
