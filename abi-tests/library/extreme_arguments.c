// what: routines and clauses with negative, empty and enormous numbers: nothing ends the program, and answers are those of the standard
// ours: what peers do with numbers that are no right ones differs; libgomp ends the program for some
// compilers: gcc,clang>=19
// threads: 2,4
// expect-stderr: gangway: omp_set_max_active_levels got -1; the value stays as it was
// expect-stderr: gangway: omp_set_schedule got unknown kind 99; the schedule stays as it was
// expect-stderr-lines: 3
#include "check.h"
#include <limits.h>
#include <stdint.h>

static void routines(void)
{
    int usual = omp_get_max_threads(), wrong[] = {INT_MIN, -1, 0};
    for (int i = 0; i < 3; i++) {
        omp_set_max_active_levels(wrong[i] < 0 ? wrong[i] : 1);
        CHECK(omp_get_max_active_levels() >= 0);
        omp_set_schedule(omp_sched_dynamic, wrong[i]);
        int count = 0;
#pragma omp parallel for schedule(runtime) reduction(+ : count)
        for (int k = 0; k < 100; k++)
            count++;
        CHECK_EQ(count, 100);
        CHECK_EQ(omp_get_ancestor_thread_num(wrong[i] - (wrong[i] == 0)), -1);
        CHECK_EQ(omp_get_team_size(wrong[i] > INT_MIN ? wrong[i] - 1 : wrong[i]), -1);
        CHECK_EQ(omp_get_place_num_procs(wrong[i] - (wrong[i] == 0)), 0);
    }
    CHECK_EQ(omp_get_ancestor_thread_num(INT_MAX), -1);
    CHECK_EQ(omp_get_team_size(INT_MAX), -1);
    CHECK_EQ(omp_get_place_num_procs(INT_MAX), 0);
    omp_set_max_active_levels(INT_MAX);
    CHECK(omp_get_max_active_levels() > 1);
    omp_set_schedule(omp_sched_guided, INT_MAX);
    omp_set_schedule((omp_sched_t)99, 1);
    omp_set_schedule(omp_sched_static, 0);
    omp_set_num_threads(INT_MAX);
    int two = 0;
#pragma omp parallel num_threads(2) reduction(+ : two)
    two++;
    CHECK_EQ(two, 2);
    omp_set_num_threads(usual);
    omp_set_default_device(INT_MAX);
    CHECK_EQ(omp_get_default_device(), INT_MAX);
    omp_set_default_device(0);
    char text[64];
    CHECK(omp_capture_affinity(text, sizeof text, "%99999999999999999999n%{") > sizeof text);
    CHECK(omp_capture_affinity(0, 0, "%n") > 0);
}

static void memory(void)
{
    omp_alloctrait_t null_instead = {omp_atk_fallback, omp_atv_null_fb};
    omp_allocator_handle_t allocator = omp_init_allocator(omp_default_mem_space, 1, &null_instead);
    CHECK(omp_alloc(SIZE_MAX, allocator) == 0);
    CHECK(omp_alloc(SIZE_MAX - 64, allocator) == 0);
    CHECK(omp_alloc(0, allocator) == 0);
    CHECK(omp_calloc(SIZE_MAX / 2 + 2, 2, allocator) == 0);
    CHECK(omp_calloc(SIZE_MAX, SIZE_MAX, allocator) == 0);
    CHECK(omp_aligned_alloc((size_t)1 << 62, SIZE_MAX / 2, allocator) == 0);
    char *block = omp_alloc(10, allocator);
    block[9] = 7;
    CHECK(omp_realloc(block, SIZE_MAX - 8, allocator, allocator) == 0);
    CHECK_EQ(block[9], 7);
    omp_free(block, allocator);
    omp_free(0, allocator);
    omp_destroy_allocator(allocator);
}

#define TASKLOOP(type, from, to, step, clause, expected) \
    do { \
        unsigned long long count = 0; \
        PRAGMA(omp parallel) \
        PRAGMA(omp single) \
        PRAGMA(omp taskloop clause reduction(+ : count)) \
        for (type i = from; i < to; i += step) \
            count++; \
        CHECK_EQ(count, expected); \
    } while (0)
#define PRAGMA(text) PRAGMA_(text)
#define PRAGMA_(text) _Pragma(#text)

static void taskloops(void)
{
    long most = LONG_MAX;
    volatile int empty_end = INT_MIN;
    TASKLOOP(int, 0, 10, 1, grainsize(most), 10);
    TASKLOOP(int, 0, 10, 1, num_tasks(most), 10);
    TASKLOOP(int, INT_MAX - 10, INT_MAX, 3, num_tasks(INT_MAX), 4);
    TASKLOOP(int, INT_MIN, INT_MIN + 10, 1, grainsize(3), 10);
    TASKLOOP(long, LONG_MAX - 10, LONG_MAX, 7, grainsize(1), 2);
    TASKLOOP(unsigned long, ULONG_MAX - 10, ULONG_MAX, 4, num_tasks(2), 3);
    TASKLOOP(int, INT_MAX, empty_end, 1, num_tasks(7), 0);
}

int main(void)
{
    routines();
    memory();
    taskloops();
    return check_result();
}
