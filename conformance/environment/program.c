/* What an OpenMP program sees of its environment: every control variable that has a routine, a line each, and
 * sums that must be right whatever the environment says. Run by `cargo xtask env-cases`, thousands of times.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <omp.h>
#include <stdio.h>

static long ask(const char *name, long otherwise)
{
    long (*routine)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, name);
    return routine ? routine() : otherwise;
}

static int threads_of_a_region(int wanted)
{
    int count = 0, team = 0;
#pragma omp parallel num_threads(wanted) reduction(+ : count)
    {
        count++;
#pragma omp single
        team = omp_get_num_threads();
    }
    return count == team;
}

static long loop(long n)
{
    long sum = 0;
#pragma omp parallel for num_threads(3) schedule(runtime) reduction(+ : sum)
    for (long i = 1; i <= n; i++)
        sum += i;
    return sum;
}

static int tasks(int n)
{
    int done = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < n; i++) {
#pragma omp task shared(done) priority(i)
        {
#pragma omp atomic
            done++;
        }
    }
    return done;
}

static int nested(void)
{
    int inner = 0, expected = 0;
#pragma omp parallel num_threads(2) reduction(+ : inner, expected)
    {
#pragma omp parallel num_threads(2) reduction(+ : inner)
        inner++;
        expected += omp_get_level() > 0;
    }
    return inner >= expected && inner <= 2 * expected;
}

int main(void)
{
    omp_sched_t kind;
    int chunk;
    char format[4096];
    int threads = omp_get_max_threads();
    omp_get_schedule(&kind, &chunk);
    omp_get_affinity_format(format, sizeof format);
    printf("threads=%d\ndynamic=%d\nlevels=%d\nlimit=%d\n", threads, omp_get_dynamic(),
           omp_get_max_active_levels(), omp_get_thread_limit());
    printf("schedule=%d,%d\nbind=%d\nplaces=%d\n", (int)(kind & 0x7fffffff), chunk, (int)omp_get_proc_bind(),
           omp_get_num_places());
    printf("device=%d\ndevices=%d\ncancellation=%d\npriority=%d\n", omp_get_default_device(),
           omp_get_num_devices(), omp_get_cancellation(), omp_get_max_task_priority());
    printf("teams=%d\nteams_limit=%d\nallocator=%ld\n", omp_get_max_teams(), omp_get_teams_thread_limit(),
           (long)omp_get_default_allocator());
    printf("format=%s\n", format);
    printf("stack=%ld\n", ask("kmp_get_stacksize_s", -1));
    void *block = omp_alloc(100, omp_null_allocator);
    int right = block && threads_of_a_region(3) && loop(1000) == 500500 && tasks(20) == 20 && nested();
    omp_free(block, omp_null_allocator);
    if (threads <= 64)
        right = right && threads_of_a_region(threads);
    printf("answer=%s\n", right ? "right" : "wrong");
    return !right;
}
