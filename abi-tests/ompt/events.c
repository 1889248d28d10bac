// what: a tool hears each event once, in order, with its own words, and code addresses in the function that has the construct
// ours: libgomp has no interface for tools; libomp is tested by its own suite
// compilers: gcc,clang>=19
// threads: 1,2,4,8
// flags: gcc -rdynamic
// flags: clang -rdynamic
#define _GNU_SOURCE
#include "check.h"
#include <dlfcn.h>
#include <omp-tools.h>
#include <stdatomic.h>
#include <unistd.h>

enum { KINDS = 16, DEPTH = 64 };

static atomic_int threads_begun, threads_ended, regions_begun, regions_ended, implicit_begun, implicit_ended,
    initial_begun, initial_ended;
static atomic_int created, completed, switched, dependent, edges, wrong_code, broken, words;
static atomic_int sync_begun[KINDS], sync_ended[KINDS], waits_begun[KINDS], waits_ended[KINDS];
static atomic_int work_begun[KINDS], work_ended[KINDS], wanted[KINDS], taken[KINDS], released[KINDS], nested;
static atomic_int threads_members;

/* What a thread is inside of, innermost last. */
struct thread {
    int depth, inside[DEPTH];
};

static ompt_get_thread_data_t get_thread_data;
static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_unique_id_t get_unique_id;

static struct thread *me(void)
{
    ompt_data_t *data = get_thread_data();
    return data ? data->ptr : NULL;
}

/* Something begins or ends: the end of a thing is that of the innermost one. */
static void bracket(ompt_scope_endpoint_t end, int what)
{
    struct thread *thread = me();
    if (!thread) {
        atomic_fetch_add(&broken, 1);
    } else if (end == ompt_scope_begin) {
        thread->inside[thread->depth++ % DEPTH] = what;
    } else if (thread->depth == 0 || thread->inside[--thread->depth % DEPTH] != what) {
        atomic_fetch_add(&broken, 1);
    }
}

/* A region that is forked outside of all others is forked by one of these two functions. What the compilers
 * make of the code of regions has no name here: there the address only has to be the program's. */
static void outermost(const void *code)
{
    Dl_info info, own;
    int found = dladdr(code, &info) && dladdr((void *)outermost, &own) && info.dli_fbase == own.dli_fbase;
    if (!found || (omp_get_level() == 0 && (!info.dli_sname || strncmp(info.dli_sname, "regions_", 8) != 0)))
        atomic_fetch_add(&wrong_code, 1);
}

static void thread_begin(ompt_thread_t type, ompt_data_t *data)
{
    atomic_fetch_add(&threads_begun, 1);
    atomic_fetch_add(&threads_members, type == ompt_thread_worker);
    if (data->ptr)
        atomic_fetch_add(&words, 1);
    data->ptr = calloc(1, sizeof(struct thread));
}

static void thread_end(ompt_data_t *data)
{
    atomic_fetch_add(&threads_ended, 1);
    if (!data->ptr || ((struct thread *)data->ptr)->depth != 0)
        atomic_fetch_add(&broken, 1);
    free(data->ptr);
    data->ptr = NULL;
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned requested, int flags, const void *code)
{
    (void)requested, (void)flags;
    atomic_fetch_add(&regions_begun, 1);
    if (parallel->ptr || !task->value || !frame->enter_frame.ptr)
        atomic_fetch_add(&words, 1);
    parallel->value = get_unique_id();
    outermost(code);
    bracket(ompt_scope_begin, 1000);
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    (void)flags;
    atomic_fetch_add(&regions_ended, 1);
    if (!parallel->value || !task->value)
        atomic_fetch_add(&words, 1);
    outermost(code);
    bracket(ompt_scope_end, 1000);
}

static void implicit_task(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned actual, unsigned index, int flags)
{
    (void)actual, (void)index;
    int initial = flags & ompt_task_initial;
    if (end == ompt_scope_begin) {
        atomic_fetch_add(initial ? &initial_begun : &implicit_begun, 1);
        if (task->value || (!initial && !parallel->value))
            atomic_fetch_add(&words, 1);
        task->value = get_unique_id();
    } else {
        atomic_fetch_add(initial ? &initial_ended : &implicit_ended, 1);
        if (!task->value)
            atomic_fetch_add(&words, 1);
    }
    if (!initial)
        bracket(end, 1001);
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                        int depends, const void *code)
{
    (void)frame;
    if (!(flags & ompt_task_explicit))
        return;
    atomic_fetch_add(&created, 1);
    if (!task->value || made->ptr || !code)
        atomic_fetch_add(&words, 1);
    made->value = get_unique_id();
    atomic_fetch_add(&dependent, depends);
}

static void task_schedule(ompt_data_t *prior, ompt_task_status_t status, ompt_data_t *next)
{
    if (!prior->value || !next || !next->value)
        atomic_fetch_add(&words, 1);
    atomic_fetch_add(status == ompt_task_complete ? &completed : &switched, 1);
}

static void task_dependence(ompt_data_t *source, ompt_data_t *sink)
{
    if (!source->value || !sink->value || source->value == sink->value)
        atomic_fetch_add(&words, 1);
    atomic_fetch_add(&edges, 1);
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel,
                        ompt_data_t *task, const void *code)
{
    (void)parallel, (void)code;
    if (!task->value)
        atomic_fetch_add(&words, 1);
    atomic_fetch_add(end == ompt_scope_begin ? &sync_begun[kind] : &sync_ended[kind], 1);
    if (kind != ompt_sync_region_taskgroup)
        bracket(end, kind);
}

static void sync_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel,
                      ompt_data_t *task, const void *code)
{
    (void)parallel, (void)task, (void)code;
    atomic_fetch_add(end == ompt_scope_begin ? &waits_begun[kind] : &waits_ended[kind], 1);
    bracket(end, 100 + kind);
}

static void work(ompt_work_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                 uint64_t count, const void *code)
{
    (void)parallel, (void)task, (void)count;
    if (!code)
        atomic_fetch_add(&wrong_code, 1);
    atomic_fetch_add(end == ompt_scope_begin ? &work_begun[kind] : &work_ended[kind], 1);
}

static void mutex_acquire(ompt_mutex_t kind, unsigned hint, unsigned impl, ompt_wait_id_t id,
                          const void *code)
{
    (void)hint, (void)impl, (void)id, (void)code;
    atomic_fetch_add(&wanted[kind], 1);
}

static void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t id, const void *code)
{
    (void)id, (void)code;
    atomic_fetch_add(&taken[kind], 1);
}

static void mutex_released(ompt_mutex_t kind, ompt_wait_id_t id, const void *code)
{
    (void)id, (void)code;
    atomic_fetch_add(&released[kind], 1);
}

static void nest_lock(ompt_scope_endpoint_t end, ompt_wait_id_t id, const void *code)
{
    (void)id, (void)code;
    atomic_fetch_add(&nested, end == ompt_scope_begin ? 1 : -1);
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    (void)device, (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_task_info = (ompt_get_task_info_t)lookup("ompt_get_task_info");
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    get_unique_id = (ompt_get_unique_id_t)lookup("ompt_get_unique_id");
    CHECK(lookup("ompt_no_such_function") == NULL);
#define SET(name, function) CHECK_EQ(set(ompt_callback_##name, (ompt_callback_t)function), ompt_set_always)
    SET(thread_begin, thread_begin);
    SET(thread_end, thread_end);
    SET(parallel_begin, parallel_begin);
    SET(parallel_end, parallel_end);
    SET(implicit_task, implicit_task);
    SET(task_create, task_create);
    SET(task_schedule, task_schedule);
    SET(task_dependence, task_dependence);
    SET(sync_region, sync_region);
    SET(sync_region_wait, sync_wait);
    SET(work, work);
    SET(mutex_acquire, mutex_acquire);
    SET(mutex_acquired, mutex_acquired);
    SET(mutex_released, mutex_released);
    SET(nest_lock, nest_lock);
    CHECK_EQ(set((ompt_callbacks_t)99, (ompt_callback_t)work), ompt_set_error);
    return 1;
}

enum { ROUNDS = 5, TASKS = 12 };
static int threads;
static atomic_int nested_regions;

static void finalize(ompt_data_t *tool)
{
    (void)tool;
    int regions = 2 * ROUNDS + ROUNDS * threads, members = 2 * ROUNDS * threads + ROUNDS * threads * 2;
    CHECK_EQ(regions_begun, regions);
    CHECK_EQ(regions_ended, regions);
    CHECK_EQ(implicit_begun, members);
    CHECK_EQ(implicit_ended, members);
    CHECK_EQ(initial_begun, 1);
    CHECK_EQ(initial_ended, 1);
    CHECK_EQ(threads_ended, threads_begun);
    CHECK(threads_members >= threads - 1);
    CHECK_EQ(created, ROUNDS * TASKS);
    CHECK_EQ(completed, ROUNDS * TASKS);
    CHECK_EQ(dependent, ROUNDS * TASKS / 2);
    CHECK(edges <= ROUNDS * (TASKS / 2 - 1));
    for (int kind = 0; kind < KINDS; kind++) {
        CHECK_EQ(sync_begun[kind], sync_ended[kind]);
        CHECK_EQ(waits_begun[kind], waits_ended[kind]);
        CHECK_EQ(work_begun[kind], work_ended[kind]);
    }
    CHECK_EQ(sync_begun[ompt_sync_region_barrier_implicit_parallel], members);
    CHECK_EQ(sync_begun[ompt_sync_region_taskwait], ROUNDS);
    CHECK_EQ(sync_begun[ompt_sync_region_taskgroup], ROUNDS);
    CHECK_EQ(work_begun[ompt_work_single_executor], ROUNDS);
    CHECK_EQ(work_begun[ompt_work_single_other], ROUNDS * (threads - 1));
    CHECK_EQ(work_begun[ompt_work_sections], ROUNDS * threads);
    CHECK_EQ(work_begun[ompt_work_loop_dynamic], ROUNDS * threads);
    CHECK_EQ(wanted[ompt_mutex_critical], ROUNDS * threads);
    CHECK_EQ(taken[ompt_mutex_critical], ROUNDS * threads);
    CHECK_EQ(released[ompt_mutex_critical], ROUNDS * threads);
    CHECK_EQ(taken[ompt_mutex_lock], ROUNDS * threads);
    CHECK_EQ(released[ompt_mutex_lock], ROUNDS * threads);
    CHECK_EQ(taken[ompt_mutex_nest_lock], ROUNDS * threads);
    CHECK_EQ(released[ompt_mutex_nest_lock], ROUNDS * threads);
    CHECK_EQ(nested, 0);
    CHECK_EQ(wrong_code, 0);
    CHECK_EQ(broken, 0);
    CHECK_EQ(words, 0);
    if (check_result())
        _exit(1);
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    CHECK(version >= 201811 && runtime);
    return &result;
}

/* The running task's word and frames, and the region's, are there in the program's own code. */
static void look(int explicit_task)
{
    ompt_data_t *task = NULL, *parallel = NULL, *other = NULL;
    ompt_frame_t *frame = NULL;
    int flags, num = -1, size = 0;
    CHECK_EQ(get_task_info(0, &flags, &task, &frame, &parallel, &num), 2);
    CHECK(task && task->value && parallel && parallel->value && frame);
    CHECK(frame->exit_frame.ptr && !frame->enter_frame.ptr);
    CHECK_EQ(!!(flags & ompt_task_explicit), explicit_task);
    CHECK_EQ(num, omp_get_thread_num());
    CHECK_EQ(get_parallel_info(0, &other, &size), 2);
    CHECK(other == parallel && size == omp_get_num_threads());
}

__attribute__((noinline)) void regions_work(omp_lock_t *lock, omp_nest_lock_t *nest, int *chain)
{
#pragma omp parallel
    {
        look(0);
#pragma omp barrier
#pragma omp critical
        (void)threads;
        omp_set_lock(lock);
        omp_unset_lock(lock);
        omp_set_nest_lock(nest);
        omp_set_nest_lock(nest);
        omp_unset_nest_lock(nest);
        omp_unset_nest_lock(nest);
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 20; i++)
            (void)i;
#pragma omp sections
        {
#pragma omp section
            (void)lock;
#pragma omp section
            (void)nest;
        }
#pragma omp single
        {
#pragma omp taskgroup
            {
                for (int t = 0; t < TASKS / 2; t++) {
#pragma omp task
                    look(1);
                }
            }
            for (int t = 0; t < TASKS / 2; t++) {
#pragma omp task depend(inout : chain[0])
                look(1);
            }
#pragma omp taskwait
        }
    }
}

__attribute__((noinline)) void regions_nested(void)
{
#pragma omp parallel
    {
#pragma omp parallel num_threads(2)
        look(0);
        look(0);
    }
    atomic_fetch_add(&nested_regions,
                     1); /* or the call would be the function's last, and come from where that was called */
}

int main(void)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    int chain[1] = {0};
    threads = omp_get_max_threads();
    omp_set_max_active_levels(2);
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
    for (int i = 0; i < ROUNDS; i++) {
        regions_work(&lock, &nest, chain);
        regions_nested();
    }
    CHECK_EQ(nested_regions, ROUNDS);
    return check_result();
}
