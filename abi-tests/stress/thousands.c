// what: teams of thousands of threads: no construct takes more than 4 times as much processor time per thread with 4,000 threads as with 500, unless it takes very little; 20,000 threads pass two barriers in seconds
// threads: 8
// compilers: gcc, clang>=19
// mode: preload
// alone: yes
// timeout: 120
// env: OMP_WAIT_POLICY=passive
// peers: libgomp fails, because a kernel may refuse so many kernel threads; libomp fails, because it stops where it cannot start one

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static long count;
static volatile int flag;
static omp_lock_t lock;

static void many_barriers(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp atomic
        count++;
#pragma omp barrier
    }
}

static void many_criticals(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp critical
        count++;
    }
}

static void many_locks(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 2; i++) {
        omp_set_lock(&lock);
        count += i;
        omp_unset_lock(&lock);
    }
}

static void many_ordered(int threads)
{
#pragma omp parallel for ordered schedule(static, 1) num_threads(threads)
    for (int i = 0; i < threads; i++) {
#pragma omp ordered
        count += count == i;
    }
}

static void many_singles(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp single
        count += threads;
    }
}

static void many_taskwaits(int threads)
{
#pragma omp parallel num_threads(threads)
    {
#pragma omp task
        {
#pragma omp atomic
            count++;
        }
#pragma omp taskwait
    }
}

static void many_reductions(int threads)
{
    long sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    sum++;
    count += sum;
}

/* Threads that wait in code of their own are suspended in the middle of it, however many they are. */
static void many_spin(int threads)
{
    flag = 0;
#pragma omp parallel num_threads(threads)
    {
        if (omp_get_thread_num() == threads - 1)
            flag = 1;
        while (!flag)
            sched_yield();
#pragma omp atomic
        count++;
    }
}

/* `always_allowed`: seconds per thread that are never too many. Code whose time is square in the number of
   threads takes hundreds of microseconds. `ordered` may wake a worker for each iteration, or none. */
static const struct {
    const char *name;
    void (*run)(int threads);
    double always_allowed;
} constructs[] = {{"barrier", many_barriers, 40e-6},     {"critical", many_criticals, 40e-6},
                  {"lock", many_locks, 40e-6},           {"ordered", many_ordered, 100e-6},
                  {"single", many_singles, 40e-6},       {"taskwait", many_taskwaits, 40e-6},
                  {"reduction", many_reductions, 40e-6}, {"spin", many_spin, 40e-6}};
enum { CONSTRUCTS = sizeof constructs / sizeof *constructs };

static double processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Seconds by a clock: the least, and the first, of some regions. */
static double least_time(double (*clock)(void), int which, int threads, int regions, double *first)
{
    double best = 0;
    for (int region = 0; region < regions; region++) {
        count = 0;
        double start = clock();
        constructs[which].run(threads);
        double time = clock() - start;
        if (count != threads) {
            printf("%s: %d threads counted %ld\n", constructs[which].name, threads, count);
            exit(1);
        }
        if (region == 0)
            *first = time;
        if (region == 0 || time < best)
            best = time;
    }
    return best;
}

/* The table of docs/robustness.md: microseconds per thread of the first region, and the least of all. */
static int table(void)
{
    const int teams[] = {500, 1000, 2000, 4000, 20000};
    for (int which = 0; which < CONSTRUCTS; which++) {
        printf("| `%s` |", constructs[which].name);
        for (int at = 0; at < 5; at++) {
            double first = 0, best = least_time(omp_get_wtime, which, teams[at], 8, &first);
            printf(" %.1f / %.1f |", first / teams[at] * 1e6, best / teams[at] * 1e6);
            fflush(stdout);
        }
        printf("\n");
    }
    return 0;
}

int main(int argc, char **argv)
{
    omp_init_lock(&lock);
    omp_set_dynamic(0);
    if (argc > 1 && !strcmp(argv[1], "table"))
        return table();
    int failed = 0;
    double first = 0;
    for (int which = 0; which < CONSTRUCTS; which++) {
        /* Processor time: beside other programs a region of 500 threads may have both processors for its
           millisecond, and one of 4000 never. Larger memory is slower memory: a region of 500 threads has
           its stacks in the caches. */
        double few = least_time(processor_time, which, 500, 5, &first) / 500,
               many = least_time(processor_time, which, 4000, 4, &first) / 4000;
        if (many > 4 * few && many > constructs[which].always_allowed) {
            printf("%s: %.1f us of processor time per thread with 500 threads, %.1f us with 4000\n",
                   constructs[which].name, few * 1e6, many * 1e6);
            failed = 1;
        }
    }
    double best = least_time(omp_get_wtime, 0, 20000, 2, &first);
    if (best > 5) {
        printf("20000 threads pass two barriers in %.1f s\n", best);
        failed = 1;
    }
    return failed;
}
