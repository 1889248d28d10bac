// what: fork handlers that the program registers before its first OpenMP call, or after it, use the runtime: regions, tasks, locks, its end; parent and child go on
// compilers: gcc,clang>=19
// peers: libgomp fails, because a child that enters a region after its parent did hangs
// peers: libomp fails, because it hangs where the handlers end the runtime
// threads: 2,6,17
// timeout: 60
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"

enum { FORKS = 3, TASKS = 20, USES = 5, KINDS = 3 };

static int calls;

static int region(void)
{
    int n = 0;
#pragma omp parallel reduction(+ : n)
    n++;
    return n;
}

static void handler_region(void)
{
    calls += region() == omp_get_max_threads();
}

static void handler_tasks(void)
{
    int n = 0;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task shared(n)
#pragma omp atomic
        n++;
    }
    calls += n == TASKS;
}

static void handler_lock(void)
{
#pragma omp critical
    calls += omp_get_max_threads() > 0;
}

static void handler_pause(void)
{
    calls += omp_pause_resource_all(omp_pause_hard) == 0;
}

static void handler_asks(void)
{
    calls += omp_get_num_procs() > 0 && omp_get_thread_num() == 0 && !omp_in_parallel();
}

/* Each case has a process of its own, because handlers cannot be unregistered. */
static int forks_with(void (*handler)(void), int kind, int late)
{
    int status = -1;
    if (late)
        region();
    pthread_atfork(kind == 0 ? handler : NULL, kind == 1 ? handler : NULL, kind == 2 ? handler : NULL);
    for (int i = 1; i <= FORKS; i++) {
        if (region() != omp_get_max_threads())
            return 2;
        calls = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(region() != omp_get_max_threads() ? 3 : kind == 1 ? calls != 0 : calls != 1);
        if (waitpid(child, &status, 0) != child || status != 0)
            return 4 + WEXITSTATUS(status);
        if (calls != (kind != 2))
            return 9;
    }
    return 0;
}

int main(void)
{
    void (*handlers[USES])(void) = {handler_region, handler_tasks, handler_lock, handler_pause, handler_asks};
    /* The processes of the cases are forked before this one uses OpenMP. */
    for (int which = 0; which < USES * KINDS * 2; which++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            alarm(20);
            _exit(forks_with(handlers[which % USES], which / USES % KINDS, which / USES / KINDS));
        }
        waitpid(child, &status, 0);
        if (status != 0)
            fprintf(stderr, "use %d, kind %d, late %d: status 0x%x\n", which % USES, which / USES % KINDS,
                    which / USES / KINDS, status);
        CHECK_EQ(status, 0);
    }
    return check_result();
}
