// what: the program ends right after nested regions: each implicit task that began has ended
// ours: libgomp has no interface for tools; libomp is tested by its own suite
// compilers: gcc,clang>=19
// threads: 2
// flags: gcc -rdynamic
// flags: clang -rdynamic
#define _GNU_SOURCE
#include "check.h"
#include <omp-tools.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRIES = 150 };

static atomic_int begun, ended, inner_runs;

/* Slow at each end, so that the program ends while members still report. */
static void implicit_task(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task, unsigned size,
                          unsigned index, int flags)
{
    (void)parallel, (void)task, (void)size, (void)index;
    if (flags & ompt_task_initial)
        return;
    for (volatile int i = 0; end == ompt_scope_end && i < 20000; i++) {
    }
    atomic_fetch_add(end == ompt_scope_begin ? &begun : &ended, 1);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)device, (void)data;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    return set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task) == ompt_set_always;
}

/* Exit status of the child: 0 if all six implicit tasks began and ended. */
static void finalize(ompt_data_t *data)
{
    (void)data;
    if (inner_runs)
        _exit(begun == ended && begun == 6 ? 0 : 10 + begun - ended);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    (void)version, (void)runtime;
    return &result;
}

/* All four threads meet; then the order of the joins is random. */
static void regions(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp parallel num_threads(2)
        {
            inner_runs++;
            while (inner_runs < 4)
                usleep(10);
#pragma omp barrier
        }
    }
}

int main(void)
{
    omp_set_max_active_levels(2);
    for (int i = 0; i < TRIES; i++) {
        int status = -1;
        pid_t child = fork();
        if (child == 0) {
            regions();
            return 1; /* only if `finalize` did not run */
        }
        CHECK(waitpid(child, &status, 0) == child);
        CHECK_EQ(status, 0);
    }
    return check_result();
}
