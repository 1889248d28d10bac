// what: routines that only ask, called from constructors, signal handlers at any moment (also while the runtime starts), thread-exit handlers and exit handlers
// threads: 1,2,6,17
// timeout: 60
// peers: libomp fails, because an answer starts it, and its start cannot be interrupted by a question
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include "check.h"

enum { REGIONS = 200, THREADS = 20 };

static volatile sig_atomic_t wrong, asked;

static void ask(void)
{
    omp_sched_t kind;
    int chunk, team = omp_get_num_threads(), me = omp_get_thread_num(), levels = omp_get_level(),
               active = omp_get_active_level();
    omp_get_schedule(&kind, &chunk);
    asked++;
    if (omp_get_max_threads() < 1 || omp_get_num_procs() < 1 || me < 0 || me >= team || active > levels ||
        omp_get_thread_limit() < 1 || omp_get_max_active_levels() < 0 || omp_get_dynamic() ||
        omp_in_final() || omp_get_ancestor_thread_num(0) != 0 || omp_get_team_size(0) != 1 ||
        omp_get_ancestor_thread_num(levels) != me || omp_get_team_size(levels) != team ||
        omp_get_num_teams() != 1 || omp_get_team_num() != 0 || (omp_in_parallel() != 0) != (active > 0) ||
        (levels == 0 && team != 1) || omp_get_cancellation() || omp_get_max_task_priority() < 0 ||
        omp_get_default_device() < 0 || !omp_is_initial_device() ||
        omp_get_ancestor_thread_num(levels + 1) != -1)
        wrong++;
}

static int most_in_constructor;

__attribute__((constructor(101))) static void early(void)
{
    ask();
    most_in_constructor = omp_get_max_threads();
}

static void handler(int signal_number)
{
    (void)signal_number;
    ask();
}

static void at_exit(void)
{
    int before = wrong;
    ask();
    if (wrong != before)
        _Exit(30);
}

static pthread_key_t key;

static void thread_ends(void *unused)
{
    (void)unused;
    ask();
}

static void *thread_main(void *has_region)
{
    pthread_setspecific(key, &key);
    ask();
    if (has_region) {
#pragma omp parallel num_threads(3)
        ask();
    }
    return NULL;
}

int main(void)
{
    atexit(at_exit);
    pthread_key_create(&key, thread_ends);
    signal(SIGALRM, handler);
    struct itimerval often = {{0, 200}, {0, 50}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    int n = 0;
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel reduction(+ : n)
        {
            n++;
            if (i % 20 == 0)
                ask();
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, thread_main, i % 2 ? &key : NULL);
        pthread_join(thread, NULL);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    CHECK_EQ(n, REGIONS * omp_get_max_threads());
    CHECK_EQ(most_in_constructor, omp_get_max_threads());
    CHECK(asked > REGIONS / 20);
    CHECK_EQ(wrong, 0);
    return check_result();
}
