/* The body of identity/stacks*.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "identity.h"
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>
#define INNER 3
struct bounds {
    uintptr_t lowest;
    size_t size, guard;
};
static struct bounds told[64];
static pthread_t selves[64];
static int ends[2], tasks_run;
static size_t least;

/* What the C library's calls say of a thread's stack. */
static struct bounds ask(pthread_t thread)
{
    pthread_attr_t attributes;
    struct bounds answer = {0, 0, 0};
    void *lowest = NULL;
    size_t size = 0;
    CHECK_EQ(pthread_getattr_np(thread, &attributes), 0);
    CHECK_EQ(pthread_attr_getstack(&attributes, &lowest, &answer.size), 0);
    CHECK_EQ(pthread_attr_getguardsize(&attributes, &answer.guard), 0);
    CHECK_EQ(pthread_attr_getstacksize(&attributes, &size), 0);
    CHECK_EQ(size, answer.size);
    CHECK_EQ(pthread_attr_destroy(&attributes), 0);
    answer.lowest = (uintptr_t)lowest;
    return answer;
}
static int same(struct bounds a, struct bounds b)
{
    return a.lowest == b.lowest && a.size == b.size && a.guard == b.guard;
}
static int apart(struct bounds a, struct bounds b)
{
    return a.lowest + a.size <= b.lowest || b.lowest + b.size <= a.lowest;
}
/* Whether the byte is there: the kernel says so without a signal. */
static int readable(uintptr_t at)
{
    return write(ends[1], (const void *)at, 1) == 1;
}

/* The bounds that the calling code is told of are those of the stack that it stands on. */
static __attribute__((noinline)) struct bounds verify(int is_program_stack)
{
    volatile char local = 1;
    struct bounds mine = ask(pthread_self());
    CHECK((uintptr_t)&local - mine.lowest < mine.size);
    if (!is_program_stack) {
        CHECK(mine.size >= least);
        CHECK(mine.guard > 0);
        CHECK(readable(mine.lowest));
        CHECK(!readable(mine.lowest - 1));
        CHECK(!readable(mine.lowest - mine.guard));
    }
    return mine;
}
/* A task runs on its thread's stack or on another one that is as large. */
static void verify_task(void)
{
    struct bounds mine = verify(1);
    CHECK(same(mine, told[omp_get_thread_num()]) || (mine.size >= least && mine.guard > 0));
}
static void tree(int depth)
{
    verify_task();
    for (int child = 0; depth > 0 && child < 3; child++) {
#pragma omp task firstprivate(depth)
        tree(depth - 1);
    }
#pragma omp taskyield
    verify_task();
#pragma omp taskwait
    verify_task();
#pragma omp atomic
    tasks_run++;
}
/* Everybody in a team, thread `me` of `all` that exist, is told the same of itself and of each other. */
static void compare(int me, int all, int is_program_stack)
{
    struct bounds mine = verify(is_program_stack);
    selves[me] = pthread_self();
    told[me] = mine;
#pragma omp barrier
    for (int i = 0; i < all; i++) {
        CHECK(same(told[i], ask(selves[i])));
        CHECK(i == me || apart(told[i], mine));
    }
#pragma omp barrier
    CHECK(same(mine, verify(is_program_stack)));
}
static void regions(int n)
{
    struct bounds before = ask(pthread_self());
    tasks_run = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(n)
    {
        int id = omp_get_thread_num();
        compare(id, n, id == 0);
#pragma omp single
        tree(4);
        verify(id == 0);
    }
    CHECK_EQ(tasks_run, 1 + 3 + 9 + 27 + 81);
#pragma omp parallel num_threads(n)
    {
        int outer = omp_get_thread_num();
#pragma omp parallel num_threads(INNER)
        {
            int id = omp_get_thread_num();
            struct bounds mine = verify(outer == 0 && id == 0);
            CHECK_EQ(omp_get_num_threads(), INNER);
            told[INNER * outer + id] = mine;
#pragma omp barrier
            for (int i = 0; i < INNER; i++)
                CHECK(i == id || apart(told[INNER * outer + i], mine));
        }
        verify(outer == 0);
#pragma omp barrier
        for (int i = 0; i < INNER * n; i++)
            for (int k = 0; k < i; k++)
                CHECK(i / INNER == k / INNER || i % INNER || k % INNER || apart(told[i], told[k]));
    }
    CHECK(same(before, ask(pthread_self())));
}
static void *root(void *argument)
{
    struct bounds mine = verify(1);
    CHECK(mine.size <= 1 << 20 && mine.size > 1 << 19);
    regions(*(int *)argument);
    return NULL;
}
int main(void)
{
    int n = omp_get_max_threads();
    const char *wanted = getenv("OMP_STACKSIZE");
    pthread_attr_t attributes;
    pthread_t other;
    least = wanted ? (size_t)atol(wanted) << 10 : 64 << 10; /* in KiB */
    CHECK_EQ(pipe(ends), 0);
    regions(n);
    regions(n);
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, 1 << 20), 0);
    CHECK_EQ(pthread_create(&other, &attributes, root, &n), 0);
    pthread_join(other, NULL);
    pthread_attr_destroy(&attributes);
    return check_result();
}
