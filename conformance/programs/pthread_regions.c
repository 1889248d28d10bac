/* The program's own pthreads enter parallel regions, all at once and again and again. Argument: rounds.
   Each pthread is an initial thread of its own: its teams, its threadprivate copies, its ICVs. Critical is
   shared. */
#include "runtime_used.h"
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 6, SIZE = 2000 };
static int rounds;
static long entered;
static int mine;
#pragma omp threadprivate(mine)
static struct result {
    long sum, wrong, tasks;
} results[THREADS];

static long tasks_of(long n)
{
    long left = 0, right = 0;
    if (n < 2)
        return n;
#pragma omp task shared(left) if (n > 8)
    left = tasks_of(n - 1);
    right = tasks_of(n - 2);
#pragma omp taskwait
    return left + right;
}

/* What can be wrong inside a region: another pthread's threadprivate, a team of another size than asked for.
 */
static long check_nested(int id)
{
    long wrong = mine != id;
    int expected = omp_get_active_level() < omp_get_max_active_levels() ? 2 : 1;
#pragma omp parallel num_threads(2) reduction(+ : wrong)
    wrong += omp_get_num_threads() != expected || omp_get_level() != 2;
    return wrong;
}

static void one_round(int id, struct result *r)
{
    long sum = 0, wrong = 0, tasks = 0;
#pragma omp parallel reduction(+ : sum, wrong)
    {
        mine = id;
#pragma omp for schedule(dynamic, 50)
        for (int i = 0; i < SIZE; i++)
            sum += (long)i * (id + 1);
        wrong += check_nested(id) + (omp_get_num_threads() != omp_get_max_threads());
#pragma omp critical(shared_by_all)
        entered++;
#pragma omp barrier
#pragma omp single
        tasks = tasks_of(12);
    }
    r->sum += sum, r->wrong += wrong, r->tasks += tasks;
}

static void *work(void *argument)
{
    int id = (int)(long)argument;
    omp_set_max_active_levels(id % 2 + 1);
    for (int round = 0; round < rounds; round++)
        one_round(id, &results[id]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    rounds = argc > 1 ? atoi(argv[1]) : 40;
    report_runtime();
    for (int wave = 0; wave < 3; wave++) {
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, work, (void *)i);
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS; i++)
        printf("pthread %d sum %ld wrong %ld tasks %ld\n", i, results[i].sum, results[i].wrong,
               results[i].tasks);
    printf("criticals lost %ld\n", 3L * THREADS * rounds * omp_get_max_threads() - entered);
    return 0;
}
