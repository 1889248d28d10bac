// what: which tasks a tool finds below the running one: parents of tasks that are run at once, in waits and in parts, and those that have forked the regions around it
// ours: libgomp has no interface for tools; libomp names the generating task, wherever that is
// compilers: gcc,clang>=19
// threads: 2,4,8
// flags: gcc -rdynamic
// flags: clang -rdynamic
#include "check.h"
#include <omp-tools.h>
#include <stdatomic.h>

enum { ROUNDS = 300, CHILDREN = 8 };

static ompt_get_task_info_t get_task_info;
static atomic_long last = 1000, in_waits, in_regions;

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                        int depends, const void *code)
{
    (void)task, (void)frame, (void)flags, (void)depends, (void)code;
    made->value = (uint64_t)atomic_fetch_add(&last, 1);
}

static void sync_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel,
                      ompt_data_t *task, const void *code)
{
    (void)kind, (void)end, (void)parallel, (void)task, (void)code;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    (void)device, (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    set(ompt_callback_task_create, (ompt_callback_t)task_create);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)sync_wait);
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    (void)tool;
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

/* The word of the task so many levels below; 0 of an implicit one, -1 where there is none. */
static long word(int level)
{
    int flags;
    ompt_data_t *task = NULL;
    if (get_task_info(level, &flags, &task, NULL, NULL, NULL) != 2)
        return -1;
    return task ? (long)task->value : 0;
}

/* All levels down to the initial task are there. */
static void walk(void)
{
    int level = 0;
    while (word(level) >= 0 && level < 1000)
        level++;
    CHECK(level > 1 && level < 1000);
}

/* A task without a tie, whose children ask: one that it runs at once, and others, some of which its thread
 * runs in its wait. */
static void loose(void)
{
#pragma omp task untied
    {
        atomic_int waits_on = -1;
        long above = word(0);
#pragma omp task if (0) shared(above)
        CHECK_EQ(word(1), above);
        for (int child = 0; child < CHILDREN; child++) {
#pragma omp task shared(waits_on)
            {
                long made_by = above;
                if (atomic_load(&waits_on) == omp_get_thread_num()) {
                    CHECK_EQ(word(1), made_by);
                    atomic_fetch_add(&in_waits, 1);
                }
                walk();
            }
        }
        atomic_store(&waits_on, omp_get_thread_num());
#pragma omp taskwait
    }
}

/* A region in a task that is run at once by another one: both threads find these two. */
static void inner(void)
{
#pragma omp task
    {
        long outer = word(0);
#pragma omp task if (0)
        {
            long forks = word(0);
            CHECK_EQ(word(1), outer);
#pragma omp parallel num_threads(2)
            {
                CHECK_EQ(word(0), 0);
                CHECK_EQ(word(1), forks);
                CHECK_EQ(word(2), outer);
                walk();
                atomic_fetch_add(&in_regions, 1);
            }
        }
    }
}

int main(void)
{
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
#pragma omp parallel
#pragma omp single
    for (int round = 0; round < ROUNDS; round++) {
        loose();
        if (round % 10 == 0)
            inner();
    }
    CHECK_EQ(in_regions, 2 * ROUNDS / 10);
    CHECK(in_waits > 0);
    if (getenv("VERBOSE"))
        fprintf(stderr, "%ld in waits\n", (long)in_waits);
    return check_result();
}
