// what: a signal that ends programs ends this one, whichever thread sends it to itself or to another
// threads: 2,6,17
#include "signals.h"

#include <sys/wait.h>

static pthread_t threads[MOST_THREADS];

static void end(int way, int sender)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num(), n = omp_get_num_threads();
        threads[me] = pthread_self();
#pragma omp barrier
        if (me == sender % n) {
            if (way == 0)
                raise(SIGTERM);
            else if (way == 1)
                pthread_kill(pthread_self(), SIGUSR2);
            else
                pthread_kill(threads[(me + 1) % n], SIGALRM);
        }
#pragma omp barrier
    }
}

int main(void)
{
    static const int number[] = {SIGTERM, SIGUSR2, SIGALRM};
    for (int way = 0; way < 3; way++)
        for (int sender = 0; sender < omp_get_max_threads(); sender += 3) {
            pid_t child = fork();
            if (child == 0) {
                alarm(10);
                end(way, sender);
                pause(); /* one that was sent to another thread may be on its way */
                _exit(0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            CHECK(WIFSIGNALED(status));
            CHECK_EQ(WTERMSIG(status), number[way]);
        }
    return check_result();
}
