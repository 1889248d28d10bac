// what: a program with an allocator of its own, under one lock: threads that are switched out do not hold it
// threads: 4,6
// env: GANGWAY_WORKERS=2
#include "check.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char store[256 << 20] __attribute__((aligned(64)));
static size_t used;

/* Never gives anything back, and is slow. */
static void *take(size_t size)
{
    pthread_mutex_lock(&lock);
    for (volatile int i = 0; i < 2000; i++)
        ;
    size_t *block = (size_t *)(store + used);
    used += (size + 64 + 63) & ~(size_t)63;
    pthread_mutex_unlock(&lock);
    if (used > sizeof store)
        abort();
    block[7] = size;
    return block + 8;
}

void *malloc(size_t size)
{
    return take(size);
}

void *calloc(size_t count, size_t size)
{
    return take(count * size); /* the store begins as zeros */
}

void *realloc(void *old, size_t size)
{
    void *new = take(size);
    if (old) {
        size_t had = ((size_t *)old)[-1];
        memcpy(new, old, had < size ? had : size);
    }
    return new;
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    char *raw = take(size + alignment);
    *block = raw + (alignment - (size_t)raw % alignment) % alignment;
    ((size_t *)*block)[-1] = size;
    return 0;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    void *block;
    posix_memalign(&block, alignment, size);
    return block;
}

void free(void *block)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    (void)block;
}

int main(void)
{
    long made = 0;
    for (int round = 0; round < 3; round++) {
#pragma omp parallel reduction(+ : made)
        for (int i = 0; i < 20000 / omp_get_num_threads(); i++) {
            void *volatile block = malloc(100);
            made += block != NULL;
            free(block);
        }
    }
    CHECK(made > 50000);
    return check_result();
}
