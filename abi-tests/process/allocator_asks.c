// what: the program's own allocator asks the runtime in each call, from the first one on, also while it holds its lock: the runtime neither allocates for an answer nor waits
// threads: 1,2,6,17
// timeout: 60
// peers: libomp fails, because it starts for an answer, and allocates for that
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include "check.h"

enum { HEAP = 256 << 20, HEAD = 16, ROUNDS = 20, BLOCKS = 20 };

static char heap[HEAP] __attribute__((aligned(16)));
static size_t used;
static pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;
static int wrong;
static __thread int inside;

/* All that a program may want to know in order to choose a pool. */
static void ask(void)
{
    omp_sched_t kind;
    int chunk, most = omp_get_max_threads(), procs = omp_get_num_procs(), team = omp_get_num_threads(),
               me = omp_get_thread_num();
    omp_get_schedule(&kind, &chunk);
    int levels = omp_get_level(), active = omp_get_active_level(), limit = omp_get_thread_limit(),
        deepest = omp_get_max_active_levels();
    int sum = omp_get_dynamic() + omp_get_cancellation() + omp_in_final() + omp_get_proc_bind() +
              omp_get_default_device() + omp_get_num_teams() + omp_get_team_num() + omp_is_initial_device();
    int is_bad = most < 1 || procs < 1 || team < 1 || me < 0 || me >= team || levels < 0 || active < 0 ||
                 active > levels || limit < 1 || deepest < 0 || sum < 0 || omp_get_max_task_priority() < 0 ||
                 omp_get_ancestor_thread_num(levels) != me || omp_get_team_size(levels) != team ||
                 (omp_in_parallel() != 0) != (active > 0) || omp_get_wtime() <= 0;
    if (is_bad)
        __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
    if (inside)
        _exit(40); /* an answer needs memory */
    inside = 1;
    pthread_mutex_lock(&heap_lock);
    ask();
    size_t at = used;
    used += (size + HEAD + 15) & ~(size_t)15;
    if (used > HEAP)
        _exit(41);
    pthread_mutex_unlock(&heap_lock);
    *(size_t *)(heap + at) = size;
    inside = 0;
    return heap + at + HEAD;
}

void free(void *block)
{
    if (block && (char *)block > heap && (char *)block < heap + HEAP)
        ask();
}

void *calloc(size_t n, size_t size)
{
    return malloc(n * size);
}

void *realloc(void *old, size_t size)
{
    void *block = malloc(size);
    if (old) {
        size_t before = *(size_t *)((char *)old - HEAD);
        memcpy(block, old, before < size ? before : size);
    }
    return block;
}

void *memalign(size_t align, size_t size)
{
    char *block = malloc(size + align + HEAD),
         *aligned = (char *)(((uintptr_t)block + align + HEAD) & ~(uintptr_t)(align - 1));
    *(size_t *)(aligned - HEAD) = size;
    return aligned;
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **to, size_t align, size_t size)
{
    *to = memalign(align, size);
    return 0;
}

static void *thread_main(void *argument)
{
    int n = 0;
    free(malloc(100));
#pragma omp parallel num_threads(3) reduction(+ : n)
    {
        free(malloc(100));
        n++;
    }
    *(int *)argument = n;
    return NULL;
}

int main(void)
{
    for (int round = 1; round <= ROUNDS; round++) {
        int mismatched = 0, size = omp_get_max_threads();
        /* Teams of changing sizes: threads are made, and their records freed. */
        if (round % 3 == 0)
            size = size / 2 + 1;
#pragma omp parallel num_threads(size) reduction(+ : mismatched)
        {
            int *mine[BLOCKS];
            for (int i = 0; i < BLOCKS; i++)
                *(mine[i] = malloc(16)) = omp_get_thread_num();
#pragma omp barrier
            for (int i = 0; i < BLOCKS; i++) {
                mismatched += *mine[i] != omp_get_thread_num();
                free(mine[i]);
            }
#pragma omp single
            for (int i = 0; i < BLOCKS; i++)
#pragma omp task
            {
                free(malloc(64));
#pragma omp taskyield
            }
#pragma omp parallel num_threads(2)
            free(malloc(32));
        }
        CHECK_EQ(mismatched, 0);
        pthread_t thread;
        int n = 0;
        CHECK_EQ(pthread_create(&thread, NULL, thread_main, &n), 0);
        pthread_join(thread, NULL);
        CHECK_EQ(n, 3);
    }
    CHECK_EQ(omp_pause_resource_all(omp_pause_hard), 0);
    free(malloc(1));
    CHECK_EQ(wrong, 0);
    return check_result();
}
