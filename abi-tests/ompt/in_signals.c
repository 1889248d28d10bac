// what: inquiry functions of tools called from signal handlers at any instruction, under nested regions and tasks that begin and end
// ours: libgomp has no interface for tools; libomp's functions are not all safe there
// compilers: gcc,clang>=19
// threads: 2,4,8
// flags: gcc -rdynamic
// flags: clang -rdynamic
#define _GNU_SOURCE
#include "check.h"
#include <dirent.h>
#include <omp-tools.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { TASK = 0x5a5a0000, REGION = 0x6b6b0000, THREAD = 0x7c7c0000, KINDS = 0x7fff0000, SECONDS = 1 };

static ompt_get_task_info_t get_task_info;
static ompt_get_parallel_info_t get_parallel_info;
static ompt_get_thread_data_t get_thread_data;
static ompt_get_state_t get_state;
static ompt_get_target_info_t get_target_info;
static ompt_get_proc_id_t get_proc_id;
static ompt_get_num_procs_t get_num_procs;
static ompt_get_unique_id_t get_unique_id;
static atomic_long samples, with_task, deep, foreign, backwards;
static atomic_int over;

/* A word is what the tool has put there, or nothing yet. */
static void see(const ompt_data_t *word, uint64_t kind)
{
    if (!word || (word->value && (word->value & KINDS) != kind))
        atomic_fetch_add(&foreign, 1);
}

static void handler(int signal)
{
    (void)signal;
    atomic_fetch_add(&samples, 1);
    int level, flags, num, size;
    ompt_data_t *task, *region, *other;
    ompt_frame_t *frame;
    for (level = 0; get_task_info(level, &flags, &task, &frame, &region, &num) == 2 && level < 1000;
         level++) {
        see(task, TASK);
        see(region, REGION);
        if (!(flags & 0x1f) || num < 0 || num > 64 || !frame)
            atomic_fetch_add(&foreign, 1);
    }
    atomic_fetch_add(&with_task, level > 0);
    atomic_fetch_add(&deep, level > 20);
    for (int up = 0; get_parallel_info(up, &other, &size) == 2 && up < 100; up++) {
        see(other, REGION);
        if (size < 1 || size > 64)
            atomic_fetch_add(&foreign, 1);
    }
    ompt_data_t *thread = get_thread_data();
    if (thread)
        see(thread, THREAD);
    ompt_wait_id_t wait;
    uint64_t device;
    ompt_id_t target, op;
    uint64_t before = get_unique_id();
    if (get_state(&wait) > 0x102 || get_target_info(&device, &target, &op) != 0 || get_num_procs() < 1 ||
        get_proc_id() < -1)
        atomic_fetch_add(&foreign, 1);
    atomic_fetch_add(&backwards, get_unique_id() <= before);
}

static void thread_begin(ompt_thread_t type, ompt_data_t *data)
{
    data->value = THREAD + type;
}

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned requested, int flags, const void *code)
{
    (void)task, (void)frame, (void)flags, (void)code;
    parallel->value = REGION + requested;
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *code)
{
    (void)parallel, (void)task, (void)flags, (void)code;
}

static void implicit_task(ompt_scope_endpoint_t end, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned actual, unsigned index, int flags)
{
    (void)parallel, (void)actual, (void)flags;
    if (end == ompt_scope_begin)
        task->value = TASK + index;
}

static void task_create(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *made, int flags,
                        int depends, const void *code)
{
    (void)task, (void)frame, (void)flags, (void)depends, (void)code;
    made->value = TASK + 100;
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
    get_parallel_info = (ompt_get_parallel_info_t)lookup("ompt_get_parallel_info");
    get_thread_data = (ompt_get_thread_data_t)lookup("ompt_get_thread_data");
    get_state = (ompt_get_state_t)lookup("ompt_get_state");
    get_target_info = (ompt_get_target_info_t)lookup("ompt_get_target_info");
    get_proc_id = (ompt_get_proc_id_t)lookup("ompt_get_proc_id");
    get_num_procs = (ompt_get_num_procs_t)lookup("ompt_get_num_procs");
    get_unique_id = (ompt_get_unique_id_t)lookup("ompt_get_unique_id");
    set(ompt_callback_thread_begin, (ompt_callback_t)thread_begin);
    set(ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin);
    set(ompt_callback_parallel_end, (ompt_callback_t)parallel_end);
    set(ompt_callback_implicit_task, (ompt_callback_t)implicit_task);
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

/* Interrupts all threads of the process, one after the other, besides the timer. */
static void *interrupt(void *nothing)
{
    sigset_t profiling;
    sigemptyset(&profiling);
    sigaddset(&profiling, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &profiling, NULL);
    int me = (int)syscall(SYS_gettid);
    while (!over) {
        DIR *tasks = opendir("/proc/self/task");
        for (struct dirent *entry; tasks && (entry = readdir(tasks));) {
            int thread = atoi(entry->d_name);
            if (thread > 0 && thread != me)
                syscall(SYS_tgkill, getpid(), thread, SIGPROF);
        }
        closedir(tasks);
        usleep(300);
    }
    return nothing;
}

/* Tasks in tasks, each run at once: a stack that grows. */
static int down(int depth)
{
    int below = 0;
    if (depth == 0)
        return 1;
#pragma omp task if (0) shared(below)
    below = down(depth - 1);
    return below + 1;
}

static int fib(int n)
{
    int x = 0, y = 0;
    if (n < 2)
        return n;
#pragma omp task shared(x) untied
    x = fib(n - 1);
#pragma omp task shared(y)
    y = fib(n - 2);
#pragma omp taskwait
    return x + y;
}

/* A task that forks a region and is gone right after it. */
static void forks(atomic_int *ran)
{
#pragma omp task firstprivate(ran)
    {
#pragma omp parallel num_threads(2)
        atomic_fetch_add(ran, 1);
    }
}

static double now(void)
{
    struct timeval time;
    gettimeofday(&time, NULL);
    return time.tv_sec + time.tv_usec * 1e-6;
}

int main(void)
{
    pthread_t thread;
    omp_set_dynamic(0);
    omp_set_max_active_levels(2);
#pragma omp parallel
    (void)0;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval interval = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_PROF, &interval, NULL);
    pthread_create(&thread, NULL, interrupt, NULL);
    for (double end = now() + SECONDS; now() < end;) {
        atomic_int ran = 0;
        int sum = 0, depth = 0;
#pragma omp parallel shared(ran, sum)
        {
            int mine = down(40);
#pragma omp atomic
            depth += mine;
#pragma omp single
            {
                for (int i = 0; i < 8; i++)
                    forks(&ran);
                sum = fib(10);
            }
        }
        CHECK_EQ(ran, 16);
        CHECK_EQ(sum, 55);
        CHECK_EQ(depth, 41 * omp_get_max_threads());
    }
    over = 1;
    pthread_join(thread, NULL);
    interval.it_value.tv_usec = interval.it_interval.tv_usec = 0;
    setitimer(ITIMER_PROF, &interval, NULL);
    CHECK(samples > 20 && with_task > 0);
    CHECK_EQ(foreign, 0);
    CHECK_EQ(backwards, 0);
    if (getenv("VERBOSE"))
        fprintf(stderr, "%ld samples, %ld in tasks, %ld deep\n", samples, with_task, deep);
    return check_result();
}
