/* A program whose trace is known: cargo xtask trace. Prints nothing.
   With an argument it forks a child, which has a region of its own, and waits for it; with two it makes more
   tasks than the least buffer has room for. */
#include <omp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void work(int microseconds)
{
    double end = omp_get_wtime() + microseconds * 1e-6;
    while (omp_get_wtime() < end) {
    }
}

static void child(void)
{
#pragma omp parallel num_threads(2)
    work(50);
}

static void many(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    for (int i = 0; i < 200000; i++) {
#pragma omp task
        __asm__ volatile("" ::: "memory"); /* an empty task is left out */
    }
}

int main(int argc, char **argv)
{
    int cells[4] = {0}, entered = 0;
    (void)argv;
#pragma omp parallel num_threads(2)
    {
        work(100);
#pragma omp barrier
#pragma omp single
        {
            for (int i = 0; i < 40; i++) {
#pragma omp task depend(inout : cells[i % 4]) shared(cells)
                {
                    work(20);
                    cells[i % 4]++;
                }
            }
#pragma omp taskwait
#pragma omp taskgroup
            for (int i = 0; i < 10; i++) {
#pragma omp task
                work(10);
            }
        }
#pragma omp critical
        {
            entered++;
            work(30);
        }
    }
    for (int i = 0; i < 3; i++) {
#pragma omp parallel num_threads(2)
        work(20);
    }
    if (argc > 2) {
        many();
    } else if (argc > 1) {
        pid_t process = fork();
        if (process == 0) {
            child();
            exit(0);
        }
        waitpid(process, NULL, 0);
    }
    return cells[0] == 10 && cells[3] == 10 && entered == 2 ? 0 : 1;
}
