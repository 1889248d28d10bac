/* A small tool: where an OpenMP program spends its time, by parallel region. At the end of the program it
 * prints a line for each place that forks regions: how often, how long, how many tasks ran in them, and which
 * share of their threads' time was waiting.
 *
 *     cc -O2 -shared -fPIC -I include examples/ompt/profile.c -o libprofile.so
 *     OMP_TOOL_LIBRARIES=$PWD/libprofile.so gangway run ./program
 *
 * A tool is told what happens by callbacks (OpenMP 5.2, chapter 19; docs/tools.md). It keeps a word with each
 * thread, region and
 * task: here a region's word points to its line of the profile, and a thread's to when it began to wait.
 * Callbacks run in the program's threads, at the same time: what several write is atomic. */
#include <omp-tools.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A place that forks regions, by the address behind the call. */
struct place {
    const void *code;
    atomic_long regions, tasks, nanoseconds, waiting;
};

enum { PLACES = 256 };
static struct place places[PLACES];
static atomic_int used;

/* A region that runs: its place, and when it began. */
struct region {
    struct place *place;
    long begin;
};

/* A thread: when its waits began, one in the other. */
struct thread {
    long since[16];
    int depth;
};

static ompt_get_thread_data_t get_thread_data;
static ompt_get_parallel_info_t get_parallel_info;

static long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

/* The place with this address. Two threads that meet a new one at the same time may make two lines of it. */
static struct place *place_of(const void *code)
{
    int count = atomic_load(&used);
    for (int i = 0; i < count && i < PLACES; i++)
        if (places[i].code == code)
            return &places[i];
    int mine = atomic_fetch_add(&used, 1);
    struct place *place = &places[mine < PLACES ? mine : PLACES - 1];
    place->code = code;
    return place;
}

static void thread_begin(ompt_thread_t type, ompt_data_t *thread)
{
    (void)type;
    thread->ptr = calloc(1, sizeof(struct thread));
}

static void thread_end(ompt_data_t *thread)
{
    free(thread->ptr);
    thread->ptr = NULL;
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned requested, int flags, const void *code)
{
    (void)task, (void)frame, (void)requested, (void)flags;
    struct region *region = malloc(sizeof *region);
    if (!region)
        return;
    region->place = place_of(code);
    region->begin = now();
    parallel->ptr = region;
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    (void)task, (void)flags, (void)code;
    struct region *region = parallel->ptr;
    if (!region)
        return;
    atomic_fetch_add(&region->place->regions, 1);
    atomic_fetch_add(&region->place->nanoseconds, now() - region->begin);
    parallel->ptr = NULL;
    free(region);
}

/* The place of the region that the running thread is in; none outside, and where the region has ended
 * already. */
static struct place *here(void)
{
    ompt_data_t *parallel = NULL;
    int size;
    if (!get_parallel_info(0, &parallel, &size) || !parallel || !parallel->ptr)
        return NULL;
    return ((struct region *)parallel->ptr)->place;
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                        int depends, const void *code)
{
    (void)task, (void)frame, (void)made, (void)depends, (void)code;
    struct place *place = flags & ompt_task_explicit ? here() : NULL;
    if (place)
        atomic_fetch_add(&place->tasks, 1);
}

/* Waits of workers at the end of a region are over only when the region may be gone: they are left out. */
static void wait(ompt_sync_region_t kind, ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                 const void *code)
{
    (void)task, (void)code;
    ompt_data_t *data = get_thread_data();
    struct thread *thread = data ? data->ptr : NULL;
    if (!thread || kind == ompt_sync_region_barrier_implicit_parallel)
        return;
    if (end == ompt_scope_begin) {
        if (thread->depth < 16)
            thread->since[thread->depth] = now();
        thread->depth++;
    } else if (thread->depth > 0 && --thread->depth == 0 && parallel && parallel->ptr) {
        atomic_fetch_add(&((struct region *)parallel->ptr)->place->waiting, now() - thread->since[0]);
    }
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *tool)
{
    (void)device, (void)tool;
    ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    set(ompt_callback_thread_begin, (ompt_callback_t)thread_begin);
    set(ompt_callback_thread_end, (ompt_callback_t)thread_end);
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end);
    set(ompt_callback_task_create, (ompt_callback_t)task_create);
    set(ompt_callback_sync_region_wait, (ompt_callback_t)wait);
    return 1;
}

static void finalize(ompt_data_t *tool)
{
    (void)tool;
    fprintf(stderr, "%18s %9s %11s %9s %11s\n", "region", "times", "ms", "tasks", "waiting ms");
    for (int i = 0; i < atomic_load(&used) && i < PLACES; i++) {
        struct place *p = &places[i];
        fprintf(stderr, "%18p %9ld %11.3f %9ld %11.3f\n", p->code, atomic_load(&p->regions),
                atomic_load(&p->nanoseconds) / 1e6, atomic_load(&p->tasks), atomic_load(&p->waiting) / 1e6);
    }
}

ompt_start_tool_result_t *ompt_start_tool(unsigned int version, const char *runtime)
{
    (void)version, (void)runtime;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
